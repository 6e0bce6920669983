self.value = "in the worker";
self.onmessage = (event) => {
  console.log(`worker got ${event.data}`);
  self.postMessage(`answer to ${event.data}`);
};
