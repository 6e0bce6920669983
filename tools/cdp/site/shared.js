self.onconnect = (event) => {
  const [port] = event.ports;
  port.onmessage = (message) => port.postMessage(`shared answer to ${message.data}`);
};
