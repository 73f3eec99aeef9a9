// A log-in link carries its secret behind the #, which no proxy's log gets to see: it is sent as the form would be.
const form = document.querySelector("[data-log-in]");

function logInByLink() {
  const secret = location.hash.slice(1);
  if (secret === "" || form === null) return;
  // Nobody who looks at the address later finds it there.
  history.replaceState(null, "", location.pathname + location.search);
  form.elements.secret.value = secret;
  // Anybody may have put a key of their own there, to have somebody else work in their workspace without noticing.
  if (!secret.startsWith("pl_")) form.submit();
}

logInByLink();
// Where the page is open already, a link changes nothing but what is behind the #.
addEventListener("hashchange", logInByLink);
