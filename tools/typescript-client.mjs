// Plays an MCP host with the official TypeScript SDK: starts the server given
// on the command line, or connects to one over HTTP with the token in a file,
// lists its tools, calls some, and prints what came as one JSON object. Used
// by tests of cmd/chrome-mcp.
//
//	node tools/typescript-client.mjs URL COMMAND [ARGS...]
//	node tools/typescript-client.mjs URL http://SERVER/mcp TOKEN-FILE
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "typescript-client", version: "1" });
if (command.startsWith("http://")) {
  const headers = { Authorization: `Bearer ${readFileSync(args[0], "utf8").trim()}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers } }));
} else {
  await client.connect(new StdioClientTransport({ command, args, env: { ...process.env }, stderr: "inherit" }));
}

const call = (name, arguments_) => client.callTool({ name, arguments: arguments_ });
const { tools } = await client.listTools();
const results = {
  status: await call("chrome_status", {}),
  navigate: await call("navigate", { url }),
  snapshot: await call("snapshot", {}),
  badArguments: await call("click", { nothing: true }),
  denied: await call("navigate", { url: "https://denied.example/" }),
};
await client.close();
console.log(JSON.stringify({ server: client.getServerVersion(), tools, results }));
