"use strict";
// Search in pages that are opened as files: browsers start no worker there, so the worker's script
// runs in a frame that is not seen and is spoken to as a worker is.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.append(this.frame);
      const inside = this.frame.contentWindow, page = inside.document;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = page.createElement("script");
      script.src = address;
      script.onload = () => {
        this.ready = true;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      };
      page.body.append(script);
    }
    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
