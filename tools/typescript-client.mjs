// Plays an MCP host with the official TypeScript SDK: starts the server given
// on the command line, lists its tools, calls some, and prints what came as
// one JSON object. Used by a test of cmd/chrome-mcp.
//
//	node tools/typescript-client.mjs URL COMMAND [ARGS...]
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [url, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "typescript-client", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: { ...process.env }, stderr: "inherit" }));

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
