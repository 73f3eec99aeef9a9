// A log-in link carries its secret after the #, which no proxy logs; it is submitted like the form.
const form = document.querySelector("[data-log-in]");

function logInByLink() {
  const secret = location.hash.slice(1);
  if (secret === "" || form === null) return;
  // Removes the secret from the address bar.
  history.replaceState(null, "", location.pathname + location.search);
  form.elements.secret.value = secret;
  // Ignores keys there: somebody could make others work in their workspace unnoticed.
  if (!secret.startsWith("pl_")) form.submit();
}

logInByLink();
// If the page is already open, a link only changes the part after the #.
addEventListener("hashchange", logInByLink);
