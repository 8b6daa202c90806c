package objects

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// flushRows is how many rows of a table are laid out together: columns may change their width after them, and memory
// is bounded by them.
const flushRows = 1000

// printer prints a list: a table, or a document a line.
type printer struct {
	client *Client
	header []string
	table  *tabwriter.Writer
	rows   int
}

func (c *Client) printer(header ...string) *printer {
	return &printer{client: c, header: header, table: tabwriter.NewWriter(c.options.Stdout, 0, 0, 2, ' ', 0)}
}

// row prints one entry: doc for machines, cells for people.
func (p *printer) row(doc any, cells ...string) error {
	if p.client.options.JSON {
		return p.client.document(doc)
	}
	if p.rows == 0 {
		fmt.Fprintln(p.table, strings.Join(p.header, "\t"))
	}
	for i, cell := range cells {
		if cell == "" {
			cells[i] = "-"
		}
	}
	if _, err := fmt.Fprintln(p.table, strings.Join(cells, "\t")); err != nil {
		return err
	}
	if p.rows++; p.rows%flushRows == 0 {
		return p.table.Flush()
	}
	return nil
}

// end ends the list; empty is said to people if there was nothing.
func (p *printer) end(empty string) error {
	err := p.table.Flush()
	if err == nil && p.rows == 0 && empty != "" && !p.client.options.JSON {
		_, err = fmt.Fprintln(p.client.options.Stdout, empty)
	}
	return err
}

// more ends a list that is not complete.
func (p *printer) more(text string, doc map[string]any) error {
	if p.client.options.JSON {
		return p.client.document(doc)
	}
	err := p.table.Flush()
	_, werr := fmt.Fprintln(p.client.options.Stdout, text)
	return errors.Join(err, werr)
}

// document prints one JSON document on a line.
func (c *Client) document(doc any) error {
	e := json.NewEncoder(c.options.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// facts prints names with values.
func (c *Client) facts(rows [][2]string) error {
	w := tabwriter.NewWriter(c.options.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r[0], r[1])
	}
	err := w.Flush()
	_, werr := io.WriteString(c.options.Stdout, "\n")
	return errors.Join(err, werr)
}

// visible returns text as it is when it can't be mistaken in a table, otherwise quoted.
func visible(s string) string {
	for _, r := range s {
		if r == ' ' || r == '"' || !strconv.IsPrint(r) || r == '\ufffd' {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

func hexID(id []byte) string { return hex.EncodeToString(id) }

func count(n int32, more bool) string {
	if more {
		return fmt.Sprintf("over %d", n)
	}
	return strconv.Itoa(int(n))
}

// bytesText returns a size for people.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// keysText returns a number of keys for people.
func keysText(n uint64) string {
	if n == 1 {
		return "1 key"
	}
	return fmt.Sprintf("%d keys", n)
}

func previewText(k *dopb.KeyInfo) string {
	if k.GetPreviewCut() {
		return k.GetPreview() + "…"
	}
	return k.GetPreview()
}

// distance returns how far a time is from now.
func (c *Client) distance(t time.Time) string {
	d := t.Sub(c.now()).Round(time.Second)
	if d < 0 {
		return short(-d) + " ago"
	}
	return "in " + short(d)
}

// short is a duration of at most two units.
func short(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

func (c *Client) alarmShort(a *dopb.AlarmInfo) string {
	if a == nil {
		return ""
	}
	text := c.distance(a.GetDueTime().AsTime())
	if a.GetRetries() > 0 {
		text += fmt.Sprintf(" (retry %d)", a.GetRetries())
	}
	return text
}

func (c *Client) alarmLong(a *dopb.AlarmInfo) string {
	if a == nil {
		return "none"
	}
	due := a.GetDueTime().AsTime()
	text := fmt.Sprintf("%s (%s)", due.Format("2006-01-02T15:04:05.000Z"), c.distance(due))
	if a.GetRetries() > 0 {
		text += fmt.Sprintf("; set for %s; %d runs failed, %d of them counted",
			a.GetScheduledTime().AsTime().Format("2006-01-02T15:04:05.000Z"), a.GetRetries(), a.GetCountedRetries())
	}
	return text
}

// actorText says what the object's actor is doing.
func (c *Client) actorText(a *dopb.ActorInfo) string {
	switch {
	case a == nil:
		return "not live"
	case a.GetBrokenReason() != "":
		return "broken (" + a.GetBrokenReason() + "): " + visible(a.GetBrokenMessage())
	case a.GetActive() == 0:
		return "idle for " + short(c.now().Sub(a.GetLastActive().AsTime()))
	case a.GetWaiting() > 0:
		return fmt.Sprintf("%d active, %d of them waiting", a.GetActive(), a.GetWaiting())
	}
	return fmt.Sprintf("%d active", a.GetActive())
}
