package projects

var libraries = []application{
	{name: "libraries", steps: []step{
		{path: "/dates", want: `["Friday, 27 February 2026","Freitag, 27. Februar 2026","about 1 month ago",5]`},
		{path: "/lodash", want: `[1,["1","3"],["b","c","a"],[[1,2],[3]],{"a":{"b":1,"c":[2]}},true]`},
		{path: "/template", status: 500, has: "EvalError: Code generation from strings disallowed for this context"},
		{path: "/ids", want: `[true,0]`},
		{path: "/superjson", want: `[true,0,["1"],true,"gi","/b",true]`},
		{path: "/zod", want: `[1,"2026-01-02T00:00:00.000Z",["Invalid email","Invalid emoji","Invalid date",` +
			`"Array must contain at least 1 element(s)"]]`},
		{path: "/toucan", want: `["TypeError","odd",true,"GET"]`},
	}},
	{name: "ai", steps: []step{
		{path: "/generate", want: `{"text":"It is {\"type\":\"json\",\"value\":{\"city\":\"Oslo\",\"degrees\":7}}","steps":2,"tokens":10}`},
		{path: "/stream", want: "one two three"},
		{path: "/ui", has: `data: {"type":"text-delta","id":"0","delta":"two "}` + "\n\n"},
	}},
}
