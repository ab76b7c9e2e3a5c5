// What ts1_server and ts2_server have in common.
export const text = t => ({ content: [{ type: "text", text: t }] });
export const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));

// A form with each kind of field; all but the first have a default.
export const form = {
  type: "object",
  properties: {
    name: { type: "string", title: "Name", minLength: 2, maxLength: 20 },
    mail: { type: "string", format: "email", default: "a@example.org" },
    cups: { type: "integer", minimum: 1, maximum: 9, default: 2 },
    litres: { type: "number", default: 0.25 },
    milk: { type: "boolean", default: true },
    drink: { type: "string", enum: ["tea", "coffee"], default: "tea" },
    size: { type: "string", oneOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }], default: "l" },
    extras: { type: "array", items: { type: "string", enum: ["sugar", "lemon", "ice"] }, maxItems: 2, default: ["lemon"] },
  },
  required: ["name", "cups"],
};
export const sure = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] };
export const page = "https://example.org/pay";
export const question = { messages: [{ role: "user", content: { type: "text", text: "What do maps do?" } }], maxTokens: 50 };
