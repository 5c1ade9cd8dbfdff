// A browser starts no worker for a page in a folder: the theme's search runs in a frame of the page.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.hidden = true;
      const inside = (this.inside = frame.contentWindow);
      const script = inside.document.body.appendChild(inside.document.createElement("script"));
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = new Promise((done) => Object.assign(script, { onload: done, src: url }));
    }
    async postMessage(data) {
      await this.loaded;
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
