package projects

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// exchange sends bytes over a connection of its own and returns the answer's status and body; 0 when the connection was
// closed without one.
func exchange(t *testing.T, address, request string) (int, string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, request) // it may be refused before it is read whole
		sent <- err
	}()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		c.Close()
		<-sent
		if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Error("neither an answer nor an end")
		}
		return 0, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("the body of %d: %v", resp.StatusCode, err)
	}
	c.Close()
	<-sent
	return resp.StatusCode, string(body)
}

// request is a request with these lines of its head.
func request(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

// malformed are requests and the statuses that they may be answered with; 0 is the end of the connection.
var malformed = map[string]struct {
	text string
	want []int
}{
	"well":                    {request("GET / HTTP/1.1", "Host: a"), []int{200}},
	"old":                     {request("GET / HTTP/1.0"), []int{200}},
	"old with a host":         {request("GET / HTTP/1.0", "Host: a"), []int{200}},
	"ancient":                 {"GET /\r\n\r\n", []int{400}},
	"future":                  {request("GET / HTTP/3.0", "Host: a"), []int{400, 505}},
	"no version":              {request("GET / HTTP", "Host: a"), []int{400}},
	"words":                   {request("GET / / HTTP/1.1", "Host: a"), []int{400}},
	"no method":               {request(" / HTTP/1.1", "Host: a"), []int{400}},
	"wrong method":            {request("G(T / HTTP/1.1", "Host: a"), []int{400}},
	"binary":                  {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{0, 400}},
	"zero bytes":              {strings.Repeat("\x00", 100) + "\r\n\r\n", []int{0, 400}},
	"no host":                 {request("GET / HTTP/1.1"), []int{400}},
	"two hosts":               {request("GET / HTTP/1.1", "Host: a", "Host: b"), []int{400}},
	"wrong host":              {request("GET / HTTP/1.1", "Host: a b"), []int{400}},
	"absolute":                {request("GET http://example.com/x HTTP/1.1", "Host: a"), []int{200}},
	"absolute of no host":     {request("GET http:///x HTTP/1.1", "Host: a"), []int{200, 400}},
	"asterisk":                {request("OPTIONS * HTTP/1.1", "Host: a"), []int{200, 400, 404}},
	"connect":                 {request("CONNECT a:1 HTTP/1.1", "Host: a"), []int{200, 400, 405, 501}},
	"bad escape":              {request("GET /%zz HTTP/1.1", "Host: a"), []int{200, 400}},
	"zero in the path":        {request("GET /\x00 HTTP/1.1", "Host: a"), []int{400}},
	"zero in a header":        {request("GET / HTTP/1.1", "Host: a", "X: a\x00b"), []int{400}},
	"carriage return":         {request("GET / HTTP/1.1", "Host: a", "X: a\rb"), []int{400}},
	"folded":                  {request("GET / HTTP/1.1", "Host: a", "X: a", " b"), []int{200, 400}},
	"folded first":            {request("GET / HTTP/1.1", " Host: a"), []int{400}},
	"no colon":                {request("GET / HTTP/1.1", "Host: a", "X"), []int{400}},
	"space before the colon":  {request("GET / HTTP/1.1", "Host: a", "X : a"), []int{400}},
	"no name":                 {request("GET / HTTP/1.1", "Host: a", ": a"), []int{400}},
	"wrong name":              {request("GET / HTTP/1.1", "Host: a", "X(: a"), []int{400}},
	"both lengths":            {request("POST / HTTP/1.1", "Host: a", "Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n", []int{200, 400}},
	"two lengths":             {request("POST / HTTP/1.1", "Host: a", "Content-Length: 5", "Content-Length: 6") + "12345", []int{400}},
	"wrong length":            {request("POST / HTTP/1.1", "Host: a", "Content-Length: five"), []int{400}},
	"negative length":         {request("POST / HTTP/1.1", "Host: a", "Content-Length: -5"), []int{400}},
	"huge length":             {request("POST / HTTP/1.1", "Host: a", "Content-Length: 99999999999999999999"), []int{400, 413}},
	"signed length":           {request("POST / HTTP/1.1", "Host: a", "Content-Length: +5") + "12345", []int{400}},
	"unknown coding":          {request("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: rot13"), []int{400, 501}},
	"two codings":             {request("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, chunked") + "0\r\n\r\n", []int{400, 501}},
	"coding of old":           {request("POST / HTTP/1.0", "Host: a", "Transfer-Encoding: chunked") + "0\r\n\r\n", []int{0, 200, 400, 501}},
	"wrong chunk":             {request("POST /echo HTTP/1.1", "Host: a", "Transfer-Encoding: chunked") + "zz\r\nab\r\n0\r\n\r\n", []int{0, 400, 500}},
	"huge chunk":              {request("POST /echo HTTP/1.1", "Host: a", "Transfer-Encoding: chunked") + "fffffffffffffffff\r\n", []int{0, 400, 500}},
	"chunk without an end":    {request("POST /echo HTTP/1.1", "Host: a", "Transfer-Encoding: chunked") + "2\r\nabXX0\r\n\r\n", []int{0, 400, 500}},
	"long chunk extension":    {request("POST /echo HTTP/1.1", "Host: a", "Transfer-Encoding: chunked") + "2;" + strings.Repeat("x", 1<<16) + "\r\nab\r\n0\r\n\r\n", []int{0, 200, 400, 500}},
	"many trailers":           {request("POST /echo HTTP/1.1", "Host: a", "Transfer-Encoding: chunked") + "0\r\n" + strings.Repeat("X: y\r\n", 1<<16) + "\r\n", []int{0, 200, 400, 431, 500}},
	"long header":             {request("GET / HTTP/1.1", "Host: a", "X: "+strings.Repeat("x", 1<<20)), []int{0, 400, 431}},
	"long header name":        {request("GET / HTTP/1.1", "Host: a", strings.Repeat("x", 1<<20)+": x"), []int{0, 400, 431}},
	"many headers":            {request("GET / HTTP/1.1", "Host: a", strings.Repeat("X: y\r\n", 1<<17)+"Y: z"), []int{0, 400, 431}},
	"long target":             {request("GET /"+strings.Repeat("x", 1<<20)+" HTTP/1.1", "Host: a"), []int{0, 400, 414, 431}},
	"long method":             {request(strings.Repeat("G", 1<<20)+" / HTTP/1.1", "Host: a"), []int{0, 400, 431}},
	"endless line":            {"GET /" + strings.Repeat("x", 1<<22), []int{0, 400, 414, 431}},
	"bare line feeds":         {"GET / HTTP/1.1\nHost: a\n\n", []int{200, 400}},
	"expectation":             {request("POST / HTTP/1.1", "Host: a", "Expect: nothing", "Content-Length: 0"), []int{200, 400, 417}},
	"upgrade":                 {request("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAA"), []int{200, 400}},
	"second protocol":         {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{0, 200, 400, 505}},
	"requests in one another": {request("GET / HTTP/1.1", "Host: a", "Content-Length: 0") + request("GET /second HTTP/1.1", "Host: a"), []int{200}},
}

// Requests that are none, or too large, are answered at once with what is wrong or cut off; others go on.
func TestMalformedRequests(t *testing.T) {
	p := start(t, "counter", map[string]string{
		"src/index.ts": `export default { async fetch(q) {
			if (new URL(q.url).pathname === "/echo") return new Response(await q.text());
			return new Response(q.method + " " + new URL(q.url).pathname.slice(0, 100));
		} };`,
		"wrangler.jsonc": `{"name": "plain", "main": "src/index.ts", "compatibility_date": "2026-04-01"}`,
	})
	u, err := url.Parse(p.MustReady(t).WorkerURL)
	if err != nil {
		t.Fatal(err)
	}
	pids := p.MustReady(t).PIDs
	t.Run("each", func(t *testing.T) {
		for name, c := range malformed {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				status, body := exchange(t, u.Host, c.text)
				ok := false
				for _, want := range c.want {
					ok = ok || want == status
				}
				if !ok {
					t.Errorf("got %d %.200q, want one of %v", status, body, c.want)
				}
				if strings.Contains(body, "goroutine") || strings.Contains(body, ".go:") {
					t.Errorf("the answer shows what is inside: %.200q", body)
				}
				if status, body := exchange(t, u.Host, request("GET /after HTTP/1.1", "Host: a", "Connection: close")); status != 200 ||
					body != "GET /after" {
					t.Errorf("afterwards: %d %s", status, body)
				}
			})
		}
	})
	if p.MustReady(t).PIDs["worker"] != pids["worker"] {
		t.Error("the worker has ended")
	}
}

// Clients that are slow with their head, their body or their reading hold up nobody else.
func TestSlowClients(t *testing.T) {
	p := start(t, "counter", nil)
	u, err := url.Parse(p.MustReady(t).WorkerURL)
	if err != nil {
		t.Fatal(err)
	}
	var slow []net.Conn
	for n := range 300 {
		c, err := net.DialTimeout("tcp", u.Host, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		slow = append(slow, c)
		part := [...]string{"", "G", "GET / HTTP/1.1\r\nHost: a\r\nX: ", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n1"}[n%4]
		if _, err := fmt.Fprint(c, part); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	p.want("/increment", "", `{"n":1}`)
	// On a machine that is as slow itself they are still there, and it did not wait for them to be cut off.
	took := time.Since(began)
	_ = slow[2].SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := slow[2].Read(make([]byte, 1)); took > 5*time.Second && !os.IsTimeout(err) {
		t.Errorf("another client waited for %v", took)
	}
	// A head that does not end is cut off.
	c, err := net.DialTimeout("tcp", u.Host, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("a head without an end: %v", err)
	}
	if len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
		t.Errorf("a head without an end: %.100q", answer)
	}
}
