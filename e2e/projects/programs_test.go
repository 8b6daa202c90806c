package projects

var mcpHeader = map[string]string{"Accept": "application/json, text/event-stream"}

var programs = []application{
	{name: "effect", steps: []step{
		{method: "POST", path: "/buy", body: `{"sku":"pen","count":"2"}`, want: `{"sku":"pen","left":0}`},
		{method: "POST", path: "/buy", body: `{"sku":"pen","count":"3"}`, status: 409, want: `{"error":"pen is out of stock"}`},
		{method: "POST", path: "/buy", body: `{"sku":"","count":"x"}`, status: 422, has: `["sku"]`},
		{path: "/flaky", want: "after 3 tries"},
		{path: "/released", want: `["b","a","interrupted","fast"]`},
		{path: "/stream", want: "1\n4\n9\n16\n"},
		{path: "/", status: 500, want: "Error: defect"},
	}},
	{name: "mcp", steps: []step{
		{method: "POST", path: "/mcp", header: mcpHeader, has: `"serverInfo":{"name":"tools","version":"1.0.0"}`,
			body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
				`"clientInfo":{"name":"c","version":"1"}}}`,
			sends: map[string]string{"Content-Type": "text/event-stream"}},
		{method: "POST", path: "/mcp?json", header: mcpHeader, body: `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			has: `"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"execution"`},
		{method: "POST", path: "/mcp?json", header: mcpHeader,
			body: `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}`,
			want: `{"result":{"content":[{"type":"text","text":"5"}],"structuredContent":{"sum":5}},"jsonrpc":"2.0","id":3}`},
		{method: "POST", path: "/mcp?json", header: mcpHeader,
			body: `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"add","arguments":{"a":"2"}}}`, has: `"isError":true`},
		{method: "POST", path: "/mcp", header: mcpHeader,
			body: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"fail","arguments":{}}}`, has: "no luck"},
		{method: "POST", path: "/mcp?json", header: mcpHeader,
			body: `{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"motd://today"}}`, has: `"text":"be kind"`},
		{method: "POST", path: "/mcp?json", header: mcpHeader,
			body: `{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"greet","arguments":{"name":"ann"}}}`, has: "Greet ann"},
		{method: "POST", path: "/mcp", status: 406, body: `{"jsonrpc":"2.0","id":8,"method":"ping"}`},
	}},
	{name: "mcp-sessions", steps: []step{
		{method: "POST", path: "/mcp", header: mcpHeader, has: `"serverInfo":{"name":"sessions"`, keep: "Mcp-Session-Id",
			body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
				`"clientInfo":{"name":"c","version":"1"}}}`},
		{method: "POST", path: "/mcp", header: mcpHeader, status: 202, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{method: "POST", path: "/mcp", header: mcpHeader, has: "1 facts",
			body: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember","arguments":{"fact":"a"}}}`},
		{method: "POST", path: "/mcp", header: mcpHeader, has: "2 facts",
			body: `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"remember","arguments":{"fact":"b"}}}`},
		{method: "POST", path: "/mcp", header: mcpHeader,
			body: `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"count","arguments":{"to":2},"_meta":{"progressToken":7}}}`,
			want: "event: message\ndata: {\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,\"progress\":1,\"total\":2}," +
				"\"jsonrpc\":\"2.0\"}\n\nevent: message\ndata: {\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7," +
				"\"progress\":2,\"total\":2},\"jsonrpc\":\"2.0\"}\n\nevent: message\ndata: {\"result\":{\"content\":[{\"type\":\"text\"," +
				"\"text\":\"counted\"}]},\"jsonrpc\":\"2.0\",\"id\":4}\n\n"},
		{method: "DELETE", path: "/mcp"},
	}},
}
