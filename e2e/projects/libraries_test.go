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
	{name: "modules", files: map[string]string{".dev.vars": "SECRET='s3 cret'\n"}, steps: []step{
		{path: "/files", want: `["a text\n","<p>{{name}}</p>\n",[0,1,255],[7],3]`},
		{path: "/config", want: `["b1","renamed",4,["x"],"top",{"items":3,"names":["a","b"]},true,"s3 cret","awaited at the top"]`},
		{path: "/modern", want: `[["static","read","3km","false","disposed"],[0,1,2],true,{"odd":[1,3],"even":[2]}]`},
		{path: "/node", want: `["heard","object","ca978112","aMOp","/b/c.txt","x is 3",36,true,2]`},
		{path: "/late", want: `"late"`},
		{path: "/web", want: `["TimeoutError",1000,5,{"a":"one","b":"two"},true,"hvfkN/qlp/zhXR3cuerq6jd2Z7g=","https://a.example/","€1,234.50"]`},
		{path: "/keep", want: `"later"`},
		{path: "/kept", want: `2`},
	}},
	{
		name: "environment", project: "modules", args: []string{"--env", "staging"},
		files: map[string]string{".dev.vars": "SECRET=no\n", ".dev.vars.staging": "SECRET=staged\n"},
		steps: []step{
			{path: "/config", want: `["b2","renamed",4,["x"],"staging",null,true,"staged","awaited at the top"]`},
		},
	},
	{name: "service-worker", steps: []step{
		{path: "/a", want: "bound GET /a"},
		{path: "/fail", status: 500, has: "classic failure"},
		{path: "/cdn-cgi/local/scheduled?cron=x", want: "ok"},
		{path: "/seen", want: "x"},
	}},
}
