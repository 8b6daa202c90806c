package harness

import (
	"fmt"
	"os/exec"
	"slices"
)

// Chromium is a headless Chromium, driven over the DevTools protocol.
type Chromium struct {
	node *Node
	last int
}

// StartChromium starts a Chromium that ends with the test.
func StartChromium(t T) *Chromium {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return &Chromium{node: startDriver(t, "chromium.mjs", "TANDEM_E2E_CHROMIUM="+path)}
		}
	}
	t.Fatal("the tests need Chromium: install the package chromium")
	return nil
}

// Browser is one person's browser: its cookies are its own. It is used by one goroutine.
type Browser struct {
	node *Node
	name string
}

// BrowserOptions say how a browser is.
type BrowserOptions struct {
	// Dark asks pages for dark colors.
	Dark bool `json:"dark"`
	// Width and Height are the window's, in CSS pixels. Default 1000 each.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
}

// NewBrowser opens a browser.
func (c *Chromium) NewBrowser(t T, o BrowserOptions) *Browser {
	t.Helper()
	c.last++
	b := &Browser{node: c.node, name: fmt.Sprint("browser-", c.last)}
	b.do(t, "open", o, nil)
	return b
}

// Page is what a person, or a screen reader, is told of a page.
type Page struct {
	URL    string
	Title  string
	Status int
	// Text is what is visible.
	Text string
	// Focus is the label of what has the keyboard's focus; Outlined says that it can be seen to have.
	Focus    string
	Outlined bool
}

func (b *Browser) do(t T, op string, args, out any) {
	t.Helper()
	if err := b.node.Do(b.name, op, args, out); err != nil {
		t.Fatalf("%s: %v", op, err)
	}
}

// Goto opens an address.
func (b *Browser) Goto(t T, url string) (p Page) {
	t.Helper()
	b.do(t, "goto", map[string]string{"url": url}, &p)
	return p
}

// Press presses a key, such as Tab.
func (b *Browser) Press(t T, key string) (p Page) {
	t.Helper()
	b.do(t, "press", map[string]string{"key": key}, &p)
	return p
}

// Follow presses a key that leads to another page, and waits for that.
func (b *Browser) Follow(t T, key string) (p Page) {
	t.Helper()
	b.do(t, "follow", map[string]string{"key": key}, &p)
	return p
}

// Type types text where the focus is.
func (b *Browser) Type(t T, text string) {
	t.Helper()
	b.do(t, "type", map[string]string{"text": text}, nil)
}

// TabTo moves the focus with the Tab key to what has the label, and returns the labels on the way. The focus must be
// visible everywhere.
func (b *Browser) TabTo(t T, label string) (way []string) {
	t.Helper()
	for range 20 {
		p := b.Press(t, "Tab")
		way = append(way, p.Focus)
		if !p.Outlined {
			t.Errorf("the focus on %q is not visible", p.Focus)
		}
		if p.Focus == label {
			return way
		}
	}
	t.Fatalf("Tab does not lead to %q, but to %q", label, slices.Compact(way))
	return nil
}

// WaitFor waits until a text is on the page.
func (b *Browser) WaitFor(t T, text string) (p Page) {
	t.Helper()
	b.do(t, "wait", map[string]string{"text": text}, &p)
	return p
}

// Evaluate runs a script in the page and returns its value.
func (b *Browser) Evaluate(t T, script string) (value any) {
	t.Helper()
	b.do(t, "evaluate", map[string]string{"script": script}, &value)
	return value
}

// BrowserRequest is a request with a browser's cookies that is made by no page.
type BrowserRequest struct {
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"headers,omitempty"`
	Body   string            `json:"body,omitempty"`
}

// Request sends a request with the browser's cookies.
func (b *Browser) Request(t T, r BrowserRequest) (answer Response) {
	t.Helper()
	b.do(t, "request", r, &answer)
	return answer
}

// Screenshot writes a picture of the page to a PNG file.
func (b *Browser) Screenshot(t T, path string) {
	t.Helper()
	b.do(t, "screenshot", map[string]string{"path": path}, nil)
}

// Problems returns what scripts have done or failed to do since the browser was opened: dialogs, errors, and what the
// pages' own policies forbade.
func (b *Browser) Problems(t T) (problems []string) {
	t.Helper()
	b.do(t, "problems", nil, &problems)
	return problems
}
