// Validates an OpenAPI document, the JSON schemas in it, and bodies of requests and responses
// against them. Reads {document, bodies: [{schema, body}]} from stdin, where schema is the JSON
// pointer of a schema in the document, and prints a list of errors. Used by tests of
// cmd/chrome-mcp.
import { text } from "node:stream/consumers";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv from "ajv/dist/2020.js";

const { document, bodies } = JSON.parse(await text(process.stdin));
const errors = [];
const result = await new Validator().validate(structuredClone(document));
if (!result.valid) {
  errors.push(`document: ${JSON.stringify(result.errors)}`);
}

const ajv = new Ajv.default({ strict: false, allErrors: true, formats: { "date-time": true } });
let schemas = 0;
/** Checks each member "schema", and the members of "schemas", against the metaschema. */
const visit = (value, path) => {
  if (value === null || typeof value !== "object") return;
  for (const [key, member] of Object.entries(value)) {
    if (key === "schema" || path === "/components/schemas") {
      schemas++;
      if (!ajv.validateSchema(member)) errors.push(`${path}/${key}: ${ajv.errorsText()}`);
    } else {
      visit(member, `${path}/${key}`);
    }
  }
};
visit(document, "");

ajv.addSchema({ $id: "document", ...document }, "document", false, false);
for (const { schema, body } of bodies) {
  const check = ajv.compile({ $ref: `document#${encodeURI(schema)}` });
  if (!check(body)) errors.push(`${schema}: ${ajv.errorsText(check.errors)}: ${JSON.stringify(body)}`);
}
console.log(JSON.stringify({ schemas, errors }));
