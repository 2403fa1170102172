// Dark or light: as the system has it, until somebody chooses. In: the button; out: nothing, the document has its theme.

export function theme(button, chosen = remember()) {
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (chosen) document.documentElement.dataset.theme = chosen;
  button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  button.onclick = () => {
    const next = dark ? "light" : "dark";
    remember(next);
    theme(button, next);
  };
}

// A page opened from disk may have nothing to remember with.
function remember(value = "") {
  try {
    if (value) localStorage.setItem("callmark-theme", value);
    return localStorage.getItem("callmark-theme") ?? "";
  } catch {
    return value;
  }
}
