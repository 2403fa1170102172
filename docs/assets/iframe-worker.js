// Web workers for pages opened from disk: browsers refuse them for file:// addresses, and the site's search runs in one.
// The script runs in a hidden frame instead, with the functions of a worker. The search looks for the name IFrameWorker.

if (location.protocol === "file:") {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const load = (address) =>
        new Promise((resolve, reject) => {
          const script = inside.document.createElement("script");
          script.src = address;
          script.onload = resolve;
          script.onerror = reject;
          inside.document.body.append(script);
        });
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
      inside.importScripts = async (...addresses) => {
        for (const address of addresses) await load(address);
      };
      this.loaded = load(url);
    }

    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.loaded.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) })));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
