package wranglerstate

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Reason is why something of the source did not come over.
type Reason int

// The reasons. What ReasonFacet stands for can't be imported by this version; every other one can be put right.
const (
	_ Reason = iota
	// ReasonCorrupt is a damaged database.
	ReasonCorrupt
	// ReasonUnreadable is a database that could not be read, or changed meanwhile.
	ReasonUnreadable
	// ReasonForeign is an ID that was not made for the namespace's unique key.
	ReasonForeign
	// ReasonUnnamed is an object whose name would be needed to give it an ID under another unique key.
	ReasonUnnamed
	// ReasonValue is a value or key that can't come over.
	ReasonValue
	// ReasonAlarm is an alarm at a time that none can have; its object came over.
	ReasonAlarm
	// ReasonConflict is an object that has other state in the target.
	ReasonConflict
	// ReasonFileName is a database that is named like no object.
	ReasonFileName
	// ReasonFacet is a file of facets.
	ReasonFacet
	reasons
)

// String returns what the report says.
func (r Reason) String() string {
	switch r {
	case ReasonCorrupt:
		return "corrupt, skipped"
	case ReasonUnreadable:
		return "could not be read, skipped"
	case ReasonForeign:
		return "the ID was not made for this unique key, skipped"
	case ReasonUnnamed:
		return "renaming needs the object's name, which is not known (--names), skipped"
	case ReasonValue:
		return "has values that can't come over"
	case ReasonAlarm:
		return "has an alarm at an impossible time, which was left out"
	case ReasonConflict:
		return "has other state in the target, skipped (--overwrite replaces it)"
	case ReasonFileName:
		return "not named like an object, skipped"
	case ReasonFacet:
		return "facets can't be imported yet"
	}
	return "reason " + strconv.Itoa(int(r))
}

// fails reports whether the reason makes the import incomplete.
func (r Reason) fails() bool { return r != ReasonFacet }

// maxFindings bounds the findings of one reason and namespace that are kept.
const maxFindings = 1000

// Finding is something that did not come over.
type Finding struct {
	Reason Reason
	// File is the ID of the object, or the name of the file.
	File string
	// Detail is empty when the reason says it all.
	Detail string
}

// Namespace is what came over of one namespace.
type Namespace struct {
	// Folder is relative to the source; UniqueKey is the source's, Target the target's.
	Folder, UniqueKey, Target string
	// Objects are those of the source. Imported came over, Unchanged were there already with the same state, Empty never
	// stored anything, SQLOnly have nothing but SQL tables.
	Objects, Imported, Unchanged, Empty, SQLOnly int
	// Keys, Bytes (of keys and values), Alarms and Named are those of the objects in Imported.
	Keys, Bytes   int64
	Alarms, Named int
	// WithTables objects have SQL tables, which are Tables.
	WithTables int
	Tables     []Table
	// Findings are at most 1000 for each reason; Counts has their true numbers.
	Findings []Finding
	Counts   map[Reason]int
}

// Table is an SQL table that objects of a namespace have.
type Table struct {
	Name string
	// Objects have it, with Rows in all. Uncounted of them have it in a form whose rows can't be counted here, such as
	// that of a virtual table.
	Objects, Uncounted int
	Rows               int64
}

// Platform is a folder of a service of the platform, such as KV or R2.
type Platform struct {
	Folder    string
	Databases int
}

// Report is what an import did, or would do.
type Report struct {
	Source     string
	DryRun     bool
	Namespaces []*Namespace
	KV         []*KVNamespace
	Platform   []Platform
}

// maxTables bounds the tables that are told apart in one namespace.
const maxTables = 1000

func (n *Namespace) addTable(t table) {
	i := slices.IndexFunc(n.Tables, func(k Table) bool { return k.Name == t.name })
	if i < 0 && len(n.Tables) == maxTables {
		return
	}
	if i < 0 {
		i = len(n.Tables)
		n.Tables = append(n.Tables, Table{Name: t.name})
	}
	n.Tables[i].Objects++
	if t.rows < 0 {
		n.Tables[i].Uncounted++
		return
	}
	n.Tables[i].Rows += t.rows
}

func (n *Namespace) found(reason Reason, file, detail string) {
	addFinding(&n.Findings, &n.Counts, Finding{reason, file, detail})
}

// addFinding adds a finding to a list, and counts it.
func addFinding(list *[]Finding, counts *map[Reason]int, f Finding) {
	if *counts == nil {
		*counts = map[Reason]int{}
	}
	if (*counts)[f.Reason]++; (*counts)[f.Reason] <= maxFindings {
		*list = append(*list, f)
	}
}

// Err returns an error when something that could have been imported was not.
func (r *Report) Err() error {
	count := 0
	add := func(counts map[Reason]int) {
		for reason, k := range counts {
			if reason.fails() {
				count += k
			}
		}
	}
	for _, n := range r.Namespaces {
		add(n.Counts)
	}
	for _, n := range r.KV {
		add(n.Counts)
	}
	if count == 0 {
		return nil
	}
	return fmt.Errorf("not everything came over: %s, see above", plural(count, "finding"))
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	verb := "imported"
	if r.DryRun {
		verb = "to import"
	}
	var objects int
	var bytes int64
	for _, n := range r.Namespaces {
		n.print(w, verb)
		objects += n.Imported
		bytes += n.Bytes
	}
	keys := 0
	for _, n := range r.KV {
		n.print(w, verb)
		keys += n.Imported
		bytes += n.Bytes
	}
	for _, p := range r.Platform {
		fmt.Fprintf(w, "%s\n  not importable yet: state of the platform, %s\n", p.Folder, plural(p.Databases, "database"))
	}
	what := plural(objects, "object")
	if len(r.KV) > 0 {
		what += " and " + plural(keys, "key") + " of KV"
	}
	fmt.Fprintf(w, "%s %s, %s\n", verb, what, size(bytes))
}

func (n *Namespace) print(w io.Writer, verb string) {
	fmt.Fprintf(w, "%s", n.UniqueKey)
	if n.Target != n.UniqueKey {
		fmt.Fprintf(w, " as %s", n.Target)
	}
	fmt.Fprintf(w, " (%s)\n  %s: %d %s", n.Folder, plural(n.Objects, "object"), n.Imported, verb)
	for _, c := range []struct {
		count int
		text  string
	}{{n.Unchanged, "already there"}, {n.Empty, "empty"}, {n.SQLOnly, "with SQL tables alone"}} {
		if c.count > 0 {
			fmt.Fprintf(w, ", %d %s", c.count, c.text)
		}
	}
	fmt.Fprintln(w)
	if n.Imported > 0 {
		fmt.Fprintf(w, "  %s: %s, %s, %s\n", verb, plural(int(n.Keys), "key")+" of "+size(n.Bytes),
			plural(n.Alarms, "alarm"), plural(n.Named, "name"))
	}
	if n.WithTables > 0 {
		var tables []string
		for _, t := range n.Tables {
			rows := plural(int(t.Rows), "row")
			if t.Uncounted > 0 {
				rows = "rows not counted"
			}
			tables = append(tables, fmt.Sprintf("%s (%s)", t.Name, rows))
		}
		fmt.Fprintf(w, "  not importable yet: SQL tables of %s: %s\n", plural(n.WithTables, "object"), strings.Join(tables, ", "))
	}
	for reason := range reasons {
		printFindings(w, reason, n.Findings, n.Counts)
	}
}

func printFindings(w io.Writer, reason Reason, findings []Finding, counts map[Reason]int) {
	if counts[reason] == 0 {
		return
	}
	fmt.Fprintf(w, "  %d: %s\n", counts[reason], reason)
	shown := 0
	for _, f := range findings {
		if f.Reason != reason {
			continue
		}
		shown++
		line := f.File
		if f.Detail != "" {
			line += ": " + f.Detail
		}
		fmt.Fprintf(w, "    %s\n", line)
	}
	if more := counts[reason] - shown; more > 0 {
		fmt.Fprintf(w, "    and %d more\n", more)
	}
}

// badText names the entries of an object that can't come over.
func badText(c contents) string {
	var b strings.Builder
	for i, e := range c.bad {
		if i > 0 {
			b.WriteString("; ")
		}
		key := e.key
		if len(key) > 64 {
			key = key[:64] + "…"
		}
		fmt.Fprintf(&b, "key %q: %v", key, e.reason)
	}
	if more := c.badCount - len(c.bad); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return plural(int(n), "byte")
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
