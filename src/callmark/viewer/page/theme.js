// The dark or light theme: the system's, until the reader chooses. In: the button; out: nothing, the document has its theme.

export function applyTheme(button, chosen = storedTheme()) {
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (chosen) document.documentElement.dataset.theme = chosen;
  button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  button.onclick = () => {
    const next = dark ? "light" : "dark";
    storedTheme(next);
    applyTheme(button, next);
  };
}

// Stores a theme if one is given, and returns the stored one. A page opened from disk may have no storage.
function storedTheme(value = "") {
  try {
    if (value) localStorage.setItem("callmark-theme", value);
    return localStorage.getItem("callmark-theme") ?? "";
  } catch {
    return value;
  }
}
