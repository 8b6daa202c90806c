package projects

import "time"

var (
	ann = map[string]string{"X-User": "ann"}
	bob = map[string]string{"X-User": "bob"}

	objects = []application{
		{name: "chat", steps: []step{
			{path: "/rooms/lobby/messages", want: `[]`},
			{method: "POST", path: "/rooms/lobby/messages", body: "hi", header: ann, status: 201, want: `{"n":1}`},
			{method: "POST", path: "/rooms/lobby/messages", body: "hello ann", header: bob, status: 201, want: `{"n":2}`},
			{method: "POST", path: "/rooms/lobby/messages", header: ann, status: 400, want: `{"error":"empty"}`},
			{method: "POST", path: "/rooms/lobby/messages", body: "how are you?", header: ann, status: 201, want: `{"n":3}`},
			{method: "POST", path: "/rooms/lobby/messages", body: "?", header: ann, status: 429, want: "Slow down"},
			{path: "/rooms/lobby/messages", want: `[{"n":1,"user":"ann","text":"hi","at":"1970-01-01T00:00:00.000Z"},` +
				`{"n":2,"user":"bob","text":"hello ann","at":"1970-01-01T00:00:00.000Z"}]`},
			{path: "/rooms/lobby/messages?after=2", want: `[{"n":3,"user":"ann","text":"how are you?","at":"1970-01-01T00:00:00.000Z"}]`},
			{path: "/rooms/lobby/stream?count=2", want: "ann: how are you?\nbob: hello ann\n"},
			{path: "/rooms/other/messages", want: `[]`},
			{path: "/rooms", status: 405},
			{method: "DELETE", path: "/rooms/lobby/messages", status: 204},
			{path: "/rooms/lobby/messages", want: `[]`},
		}},
		{name: "partyserver", steps: []step{
			{method: "POST", path: "/parties/game-room/one?player=ann", body: "7", want: `{"room":"one","points":{"ann":7},"connected":0}`,
				sends: map[string]string{"Access-Control-Allow-Origin": "*"}},
			{path: "/bonus?room=one", want: "107"},
			{path: "/parties/game-room/one", want: `{"room":"one","points":{"ann":107},"connected":0}`},
			{path: "/parties/game-room/two", want: `{"room":"two","points":{},"connected":0}`},
			{path: "/parties/game-room/two", header: map[string]string{"X-Banned": "1"}, status: 403, want: "banned"},
			{path: "/parties/none/two", status: 400},
			{path: "/", status: 404},
		}},
		{name: "targets", steps: []step{
			{path: "/", want: `[true,true,false]`},
			{path: "/pipelined", want: `true`},
		}},
		{name: "cron", clock: true, worker: "reports", schedule: "0 * * * *", steps: []step{
			{path: "/cdn-cgi/local/scheduled?cron=30+4+*+*+mon&time=1700001000000&format=json", want: `{"outcome":"ok","noRetry":false}`},
			{path: "/other", want: `{"cron":"30 4 * * mon","pages":0,"due":true}`},
			{advance: 11 * time.Minute, path: "/other", want: `{"cron":"30 4 * * mon","pages":1,"due":true}`},
			{advance: 11 * time.Minute, path: "/other", has: `"pages":2,"retried":1`},
			{advance: 11 * time.Minute, path: "/other", want: `{"cron":"30 4 * * mon","pages":3,"retried":1,"due":false}`},
			{advance: time.Hour, path: "/hourly", has: `{"cron":"0 * * * *"`},
			{path: "/cdn-cgi/local/scheduled?cron=never&format=json", status: 500, want: `{"outcome":"exception","noRetry":true}`},
		}},
	}
)
