// A browser starts no worker for a page in a folder, so the site's search runs in a frame of the page.
// The theme's script of the search knows such a frame by the name IFrameWorker of its parent.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.waiting = [];
      const script = frame.contentDocument.createElement("script");
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      script.onload = () => this.waiting.splice(0).forEach((data) => this.tell(data), (this.ready = true));
      script.src = url;
      frame.contentDocument.body.append(script);
    }
    postMessage(data) {
      this.ready ? this.tell(data) : this.waiting.push(data);
    }
    tell(data) {
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
