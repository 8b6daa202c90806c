package mcpsession

import (
	"encoding/json"
	"testing"
)

// What a program emits is the block that it describes, and text where it describes none.
func TestEmittedContent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, value, want string }{
		{"a string", `"hi"`, `{"type":"text","text":"hi"}`},
		{"a number", `7`, `{"type":"text","text":"7"}`},
		{"text", `{"type":"text","text":"hi"}`, `{"type":"text","text":"hi"}`},
		{"empty text", `{"type":"text","text":""}`, `{"type":"text","text":""}`},
		{"image", `{"type":"image","data":"AQI=","mimeType":"image/png"}`, `{"type":"image","mimeType":"image/png","data":"AQI="}`},
		{"audio", `{"type":"audio","data":"AQI=","mimeType":"audio/wav"}`, `{"type":"audio","mimeType":"audio/wav","data":"AQI="}`},
		{"file of bytes", `{"type":"file","name":"a b/c.bin","data":"AQI=","mimeType":"application/octet-stream"}`,
			`{"type":"resource","resource":{"uri":"file:///a%20b%2Fc.bin","mimeType":"application/octet-stream","blob":"AQI="}}`},
		{"file of text", `{"type":"file","name":"a.csv","text":"x,y","mimeType":"text/csv; charset=utf-8"}`,
			`{"type":"resource","resource":{"uri":"file:///a.csv","mimeType":"text/csv; charset=utf-8","text":"x,y"}}`},

		{"an image that is none", `{"type":"image","data":"AQI=","mimeType":"text/html"}`, "text"},
		{"an image without bytes", `{"type":"image","data":"","mimeType":"image/png"}`, "text"},
		{"no base64", `{"type":"image","data":"*","mimeType":"image/png"}`, "text"},
		{"no media type", `{"type":"audio","data":"AQI="}`, "text"},
		{"bad media type", `{"type":"file","name":"a","text":"","mimeType":"x y"}`, "text"},
		{"a file without a name", `{"type":"file","text":"x"}`, "text"},
		{"a file of both", `{"type":"file","name":"a","text":"x","data":"AQI="}`, "text"},
		{"another type", `{"type":"video","data":"AQI=","mimeType":"video/mp4"}`, "text"},
		{"more than a block", `{"type":"text","text":"hi","id":1}`, "text"},
		{"other data", `{"type":7}`, "text"},
		{"an array", `[{"type":"text","text":"hi"}]`, "text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(emittedContent([]byte(tc.value)))
			if err != nil {
				t.Fatal(err)
			}
			want := tc.want
			if want == "text" {
				want = `{"type":"text","text":` + quoteJSON(valuePreview([]byte(tc.value))) + `}`
			}
			if string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
