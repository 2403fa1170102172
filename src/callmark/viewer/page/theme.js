// The dark or light theme: that of the system until the reader chooses one with the button.

export function applyTheme(button, chosen = storedTheme()) {
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (chosen) document.documentElement.dataset.theme = chosen;
  button.setAttribute("aria-label", dark ? "Use the light theme" : "Use the dark theme");
  button.onclick = () => {
    const next = dark ? "light" : "dark";
    storedTheme(next);
    applyTheme(button, next);
  };
}

// Stores a theme if one is given, and returns the stored one. A page opened from disk may not have storage.
function storedTheme(value = "") {
  try {
    if (value) localStorage.setItem("callmark-theme", value);
    return localStorage.getItem("callmark-theme") ?? "";
  } catch {
    return value;
  }
}
