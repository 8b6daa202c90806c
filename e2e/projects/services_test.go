package projects

var services = []application{
	{name: "graphql-yoga", files: map[string]string{".dev.vars": "SHELF=top\n"}, steps: []step{
		{method: "POST", path: "/graphql", body: `{"query":"{ books(after: 1816) { title shelf } }"}`,
			want: `{"data":{"books":[{"title":"Persuasion","shelf":"top"}]}}`},
		{method: "POST", path: "/graphql", body: `{"query":"query B($id: ID!) { book(id: $id) { title year } }","variables":{"id":"1"}}`,
			want: `{"data":{"book":{"title":"Emma","year":1815}}}`},
		{path: "/graphql?query=%7Bbook(id%3A%229%22)%7Btitle%7D%7D", has: `"message":"no book 9"`},
		{path: "/graphql?query=%7Bnone%7D", has: `Cannot query field \"none\" on type \"Query\"`, header: map[string]string{"Accept": "application/json"}},
		{method: "POST", path: "/graphql", body: `{"query":"mutation { add(title: \"Lady Susan\", year: 1794) { id } }"}`,
			want: `{"data":{"add":{"id":"3"}}}`},
		{method: "POST", path: "/graphql", body: `{"query":"subscription { count(to: 2) }"}`, header: map[string]string{"Accept": "text/event-stream"},
			has: "event: next\ndata: {\"data\":{\"count\":1}}\n\nevent: next\ndata: {\"data\":{\"count\":2}}\n\nevent: complete"},
		{path: "/graphql", header: map[string]string{"Accept": "text/html"}, has: "<title>Yoga GraphiQL</title>"},
	}},
	{name: "trpc", steps: []step{
		{path: `/trpc/hello?input={"name":"ann"}`, want: `{"result":{"data":"hello ann"}}`},
		{path: `/trpc/hello?input={"name":""}`, status: 400, has: `"code":"BAD_REQUEST"`},
		{method: "POST", path: "/trpc/room.book", body: `{"room":"a"}`, status: 401, has: "sign in first"},
		{method: "POST", path: "/trpc/room.book", body: `{"room":"a"}`, header: map[string]string{"X-User": "ann"},
			want: `{"result":{"data":{"room":"a","by":"ann"}}}`},
		{path: `/trpc/hello,room.by?batch=1&input={"0":{"name":"bo"},"1":"a"}`,
			want: `[{"result":{"data":"hello bo"}},{"result":{"data":"ann"}}]`},
		{path: `/trpc/ticks`, header: map[string]string{"Accept": "text/event-stream"}, has: "data: 0\n\n\ndata: 1\n\n\n"},
		{path: "/trpc/none", status: 404, has: `No procedure found on path \"none\"`},
	}},
	{name: "react", steps: []step{
		{path: "/string?name=%3Cann%3E", sends: map[string]string{"Content-Type": "text/html; charset=utf-8"},
			has: `<title>Page of &lt;ann&gt;</title><style>h1 { color: teal; }` + "\n" + `</style></head><body><h1>&lt;ann&gt;</h1>` +
				`<ul><li><label for="_R_`},
		{path: "/stream", has: `<p>worth the wait</p>`},
		{path: "/stream", has: `<p>waiting</p>`},
		{path: "/stream", has: `>4</output>`},
	}},
	{name: "queries", steps: []step{
		{path: "/kysely/select", want: `{"sql":"select \"person\".\"name\", count(\"pet\".\"id\") as \"pets\" from \"person\" ` +
			`inner join \"pet\" on \"pet\".\"owner\" = \"person\".\"id\" where \"person\".\"age\" > ? and (\"pet\".\"kind\" = ? or ` +
			`\"person\".\"name\" like ?) group by \"person\".\"id\" order by \"pets\" desc limit ?","parameters":[30,"cat","a%",3]}`},
		{path: "/kysely/insert", want: `{"sql":"insert into \"person\" (\"id\", \"name\", \"age\") values (?, ?, ?) on conflict (\"id\") ` +
			`do nothing","parameters":[1,"ann",31]}`},
		{path: "/kysely/table", want: `{"sql":"create table \"pet\" (\"id\" integer primary key, \"kind\" text)","parameters":[]}`},
		{path: "/rows", want: `[]`},
		{path: "/drizzle", want: `{"sql":"select \"person\".\"name\", count(\"pet\".\"id\"), upper(\"person\".\"name\") from \"person\" ` +
			`left join \"pet\" on \"pet\".\"owner\" = \"person\".\"id\" where (\"person\".\"age\" > ? and \"pet\".\"kind\" = ?) ` +
			`group by \"person\".\"id\" order by \"person\".\"name\" asc","params":[30,"cat"]}`},
	}},
}
