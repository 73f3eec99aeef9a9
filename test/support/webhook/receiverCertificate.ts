/**
 * A self-signed certificate for `receiver.example.org` and all names one level below it, valid for a hundred
 * years, and its key. For tests only: just clients configured to trust it do so.
 */
export const RECEIVER_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIB0DCCAXagAwIBAgIUdqQuOlnWvhHQ8ibOJEq76Y2FeO8wCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwUcmVjZWl2ZXIuZXhhbXBsZS5vcmcwIBcNMjYxMTIxMTIwODQy
WhgPMjEyNjEwMjgxMjA4NDJaMB8xHTAbBgNVBAMMFHJlY2VpdmVyLmV4YW1wbGUu
b3JnMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEzBVgxBfqS/iAn8AoEFbuN+YL
s+nCJZNQ5CPA6o8814mLnhrnTHAliLZdSNk4lEuaGA8etmD5kDVo3/LRpac2q6OB
jTCBijAdBgNVHQ4EFgQUbOpnYM0mgYFTjON+tbicuF/6rDwwHwYDVR0jBBgwFoAU
bOpnYM0mgYFTjON+tbicuF/6rDwwDwYDVR0TAQH/BAUwAwEB/zA3BgNVHREEMDAu
ghRyZWNlaXZlci5leGFtcGxlLm9yZ4IWKi5yZWNlaXZlci5leGFtcGxlLm9yZzAK
BggqhkjOPQQDAgNIADBFAiEA0pVBfrmAE3sy1Q6R7GGQWsCrgPxE50ZenAgOctVC
8lcCIHBpRAfy1hrsldLyE7Z67UNgdu/SLXE9uDGFwJk8XzFu
-----END CERTIFICATE-----
`;

export const RECEIVER_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjEXe5vD04sXgGI5E
ic59sodWMsl10B6OydGcPPBcLWChRANCAATMFWDEF+pL+ICfwCgQVu435guz6cIl
k1DkI8DqjzzXiYueGudMcCWItl1I2TiUS5oYDx62YPmQNWjf8tGlpzar
-----END PRIVATE KEY-----
`;
