package program

import "testing"

// TestForms holds what counts as a program, and what comes of it.
func TestForms(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	for _, tc := range []struct{ name, code, want string }{
		{"return", "return 6 * 7", "42"},
		{"nothing returned", "6 * 7", "undefined"},
		{"null", "return null", "null"},
		{"string", "return 'a\\nb'", `"a\nb"`},
		{"object", "return {b: 1, a: [undefined, () => 1, NaN], u: undefined}", `{"b":1,"a":[null,null,null]}`},
		{"await", "const v = await Promise.resolve(5); return v", "5"},
		{"promise returned", "return Promise.resolve('x')", `"x"`},
		{"comment at the end", "return 1 // one", "1"},
		{"byte order mark", "\ufeffreturn 1", "1"},
		{"empty", "", "undefined"},

		{"fence", "```js\nreturn 1\n```", "1"},
		{"fence without a language", "  \n```\nreturn 1\n```\n", "1"},
		{"fence with types", "```ts\nconst n: number = 2\nreturn n\n```", "2"},
		{"fence within is no fence", "return ```x`` + '' ", "SyntaxError: Unexpected end of input (line 1:20)"},

		{"arrow", "() => 3", "3"},
		{"async arrow", "async () => { return await 4 };", "4"},
		{"arrow with tools", "async (tools) => typeof tools", `"function"`},
		{"arrow in parentheses", "(async () => 5)", "5"},
		{"function expression", "(function () { return 6 })", "6"},
		{"function declaration", "async function main() { return 7 }", "7"},
		{"called arrow is a statement", "(() => 8)()", "undefined"},
		{"two functions are declarations", "function a() { return 1 }\nfunction b() { return 2 }\nreturn a() + b()", "3"},
		{"typed arrow", "async (): Promise<number> => { const x: number = 9; return x }", "9"},
		{"fenced arrow", "```typescript\nasync () => 10\n```", "10"},

		{"export default function", "export default async function () { return 1 }", "1"},
		{"export default arrow", "export default async () => { return 2 }", "2"},
		{"export default named", "function f() { return 3 }\nexport { f as default }", "3"},
		{"export default value", "const x = await Promise.resolve(4)\nexport default x", "4"},
		{"export default with types", "interface A { a: number }\nexport default (): A => ({ a: 5 })", `{"a":5}`},
		{"export without default", "export const a = 1", "undefined"},
		{"import", "import fs from 'fs'\nexport default fs",
			`SyntaxError: cannot import "fs": a program has no modules, only its globals (line 1:16)`},
		{"the word export in a string", "return 'export default 1'", `"export default 1"`},

		{"interface", "interface P { x: number }\nconst p: P = { x: 1 }\nreturn p.x", "1"},
		{"generics and as", "function id<T>(v: T): T { return v }\nreturn id<string>('a' as string)", `"a"`},
		{"enum", "enum E { A = 3, B }\nreturn E.B", "4"},
		{"satisfies and non-null", "const a = { b: 1 } satisfies object\nreturn a!.b", "1"},
		{"parameter property", "class A { constructor(public x: number) {} }\nreturn new A(4).x", "4"},

		{"async generator", "async function* g() { yield 1; yield 2 }\nlet s = 0; for await (const v of g()) s += v\nreturn s", "3"},
		{"field called get", "class A { get = 1; static async = 2 }\nreturn new A().get + A.async", "3"},
		{"using", "let log = []; { using a = { [Symbol.dispose]() { log.push(1) } }; log.push(0) }\nreturn log", "[0,1]"},
		{"largest code point", `return "\u{10FFFF}".length`, "2"},
		{"Unicode properties", `return ["aé1 ".match(/\p{L}+/u)[0], /^[\p{Lu}_]+$/u.test("Ä_"), /\P{L}/u.test("ß"), "x, y".replace(/[^\p{L}\p{N}]+/gu, "-"), /\p{Script=Greek}/u.test("λ"), /\p{Letter}/u.test("1"), /^[\P{Uppercase}]$/u.test("a"), /\\p{L}/u.test("\\p{L}")]`,
			`["aé",true,false,"x-y",true,false,true,true]`},
		{"Unicode properties with types", `const r: RegExp = /^\p{Nd}$/u; return r.test("٣")`, "true"},
		{"unknown Unicode property", `return /\p{Emojis}/u.test("x")`, `SyntaxError: regular expressions know no property "Emojis" here`},
		{"arguments in an arrow", "function f() { return (() => arguments[0])() }\nreturn f(8)", "8"},
		{"arguments of two functions", "function f() { return () => { const a = arguments[0]; return [a, (function () { return [1].map(() => arguments.length)[0] })(1, 2, 3)] } }\nreturn f(8)()", "[8,3]"},
		{"arguments after an await", "async function f() { await null; return [1].map(() => arguments.length)[0] }\nreturn f(1, 2)", "2"},
		{"private and static block", "class A { #x = 1; static y; static { this.y = 2 } get x() { return this.#x } }\nreturn new A().x + A.y", "3"},

		{"syntax error", "const a = 1\nconst b = = 2", "SyntaxError: Unexpected \"=\" (line 2:11)"},
		{"syntax error in the first line", "return )", "SyntaxError: Unexpected \")\" (line 1:8)"},
		{"brace not closed", "if (true) {\n  return 1", "SyntaxError: Unexpected end of input (line 2:11)"},
		{"wrapper closed", "}); (async function(){ return 1", "SyntaxError: unexpected }"},
		{"wrapper closed early", "return 1 })()", "SyntaxError: Unexpected end of input (line 1:14)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.t = t
			if got := c.execute(tc.code).outcome(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
