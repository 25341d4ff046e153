// A page that was opened from a folder may start no worker. Here a hidden frame does its work: the search of the site.
// The theme's plugin for offline use looks for a file of this name, and takes one from the network where there is none.
if (location.protocol === "file:") {
  const answer = "postMessage = (data) => frameElement.dispatchEvent(new MessageEvent('message', { data }))";
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script>${answer}</script><script src="${address}"></script>`;
      frame.addEventListener("message", ({ data }) => this.dispatchEvent(new MessageEvent("message", { data })));
      this.inside = new Promise((resolve) => frame.addEventListener("load", () => resolve(frame.contentWindow)));
      document.body.append(frame);
    }
    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
