package projects

import "strings"

var (
	auth = map[string]string{"Authorization": "Bearer sesame"}

	routers = []application{
		{name: "hono", steps: []step{
			{path: "/notes/first", status: 404, want: "no such note"},
			{method: "PUT", path: "/notes/first", body: `{"text":"hello"}`, status: 401},
			{method: "PUT", path: "/notes/first", body: `{"text":"hello"}`, header: auth, status: 204},
			{path: "/notes/first", want: `{"text":"hello"}`, header: map[string]string{"Origin": "https://app.example"},
				sends: map[string]string{"Access-Control-Allow-Origin": "https://app.example", "Content-Type": "application/json"}},
			{path: "/notes", want: `[{"id":"first","metadata":{"length":5}}]`},
			{method: "OPTIONS", path: "/notes/first", header: map[string]string{"Origin": "https://app.example"}, status: 204},
			{method: "DELETE", path: "/notes/first", header: auth, status: 204},
			{path: "/notes", want: `[]`},
			{path: "/events", want: "event: tick\ndata: 0\nid: 0\n\nevent: tick\ndata: 1\nid: 1\n\nevent: tick\ndata: 2\nid: 2\n\n",
				sends: map[string]string{"Content-Type": "text/event-stream"}},
			{method: "POST", path: "/form", body: "name=ann+b", want: "ann b -",
				header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
			{method: "POST", path: "/form", want: "ann a.txt in it", header: map[string]string{"Content-Type": "multipart/form-data; boundary=X"},
				body: "--X\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nann\r\n--X\r\n" +
					"Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nin it\r\n--X--\r\n"},
			{path: "/boom", status: 500, want: "failed: boom"},
			{path: "/none", status: 404, want: `{"error":"nothing at /none"}`},
		}},
		{name: "hono-page", steps: []step{
			{path: "/basket/", status: 404, want: "no basket yet"},
			{method: "POST", path: "/basket/pen?as=ann", status: 201, want: `{"pen":1}`},
			{method: "POST", path: "/basket/pen", status: 201, want: `{"pen":2}`},
			{path: "/basket/", want: `<body><h1>Basket of ann</h1><ul class="items"><li>pen: 2</li></ul></body>`,
				sends: map[string]string{"X-Frame-Options": "SAMEORIGIN"}},
			{path: "/price?count=x", status: 400, want: "count is no number"},
			{path: "/client", want: `{"price":42}`},
			{path: "/member", status: 401},
			{path: "/token", has: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."},
			{path: "/member", header: map[string]string{"Authorization": "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.AAAA"}, status: 401},
			{path: "/long", want: strings.Repeat("long ", 1000)},
			{path: "/html", want: "<p>&lt;&amp;&gt; <br></p>"},
		}},
		{name: "itty-router", steps: []step{
			{path: "/api/todos", want: `[{"id":1,"title":"write"}]`, sends: map[string]string{"X-Served-By": "itty"}},
			{path: "/api/todos/1", want: `{"id":1,"title":"write"}`},
			{path: "/api/todos/2", status: 404, want: `{"status":404,"error":"no todo 2"}`},
			{method: "POST", path: "/api/echo?a=1&b=2&b=3", body: `{"x":[1]}`, want: `{"content":{"x":[1]},"query":{"a":"1","b":["2","3"]}}`},
			{path: "/api/files/a/b.txt", want: `"a/b.txt"`},
			{path: "/api/fail", status: 418, want: `{"status":418,"error":"Unknown Error","reason":"teapot"}`},
			{path: "/api/throw", status: 500, want: `{"status":500,"error":"unlucky"}`},
			{path: "/", status: 404},
		}},
	}
)
