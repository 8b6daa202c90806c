package webapi

import (
	"bytes"
	"strings"
)

// parseMultipart reads the parts of multipart/form-data. It is as strict as workerd: names are quoted, and what is cut
// off is refused.
func (r *Realm) parseMultipart(f *formData, data []byte, boundary string) {
	delimiter := []byte("--" + boundary)
	rest, ok := bytes.CutPrefix(data, delimiter)
	if !ok {
		_, rest, ok = bytes.Cut(data, []byte("\n--"+boundary)) // behind a preamble
	}
	if !ok {
		r.throwType("No initial boundary string (or you have a truncated message).")
	}
	for !bytes.HasPrefix(rest, []byte("--")) {
		if len(f.list) >= maxFormParts {
			r.throwType("Invalid multipart/form-data body.")
		}
		head, content, ok := cutHead(rest)
		if !ok {
			r.throwType("No multipart message header termination found.")
		}
		end := bytes.Index(content, delimiter)
		if end < 0 {
			r.throwType("No subsequent boundary string after multipart message.")
		}
		content, rest = content[:end], content[end+len(delimiter):]
		content = bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r"))
		r.addPart(f, head, content)
	}
}

// cutHead cuts a part after the empty line that ends its header.
func cutHead(part []byte) (head, content []byte, ok bool) {
	for n := 0; n < len(part); n++ {
		if part[n] != '\n' {
			continue
		}
		switch after := part[n+1:]; {
		case bytes.HasPrefix(after, []byte("\r\n")):
			return part[:n], after[2:], true
		case bytes.HasPrefix(after, []byte("\n")):
			return part[:n], after[1:], true
		}
	}
	return nil, nil, false
}

// addPart adds a part to the form.
func (r *Realm) addPart(f *formData, head, content []byte) {
	disposition, kind, found := "", "", false
	for line := range strings.SplitSeq(string(head), "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(name)) {
		case "content-disposition":
			disposition, found = value, true
		case "content-type":
			kind = strings.ToLower(value)
		}
	}
	if !found {
		r.throwType("No valid Content-Disposition header found in FormData part.")
	}
	form, params, _ := strings.Cut(disposition, ";")
	if form = strings.TrimSpace(form); form != "form-data" {
		r.throwType("Content-Disposition header for FormData part must have the value \"form-data\", possibly followed by "+
			"parameters. Got: \"%s\"", form)
	}
	quoted := quotedParams(params)
	name, named := quoted["name"]
	if !named {
		r.throwType("Content-Disposition header in FormData part is missing a name.")
	}
	filename, isFile := quoted["filename"]
	if !isFile {
		f.list = append(f.list, formEntry{name: name, text: decodeUTF8(content)})
		return
	}
	f.list = append(f.list, r.fileEntry(name, &blob{
		data: bytes.Clone(content), file: true, name: filename, contentType: kind,
		modified: float64(r.isolate.Now().UnixMilli()),
	}))
}

// quotedParams reads the parameters of a header whose values are quoted, by their names in small letters.
func quotedParams(text string) map[string]string {
	params := map[string]string{}
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		if !ok {
			return params
		}
		if n := strings.LastIndexByte(name, ';'); n >= 0 {
			name = name[n+1:]
		}
		name = strings.ToLower(strings.TrimSpace(name))
		if !strings.HasPrefix(rest, `"`) {
			_, text, _ = strings.Cut(rest, ";")
			continue
		}
		var value strings.Builder
		n := 1
		for ; n < len(rest) && rest[n] != '"'; n++ {
			if rest[n] == '\\' && n+1 < len(rest) && (rest[n+1] == '"' || rest[n+1] == '\\') {
				n++
			}
			value.WriteByte(rest[n])
		}
		if _, twice := params[name]; !twice && n < len(rest) {
			params[name] = decodeUTF8([]byte(value.String()))
		}
		text = rest[min(n+1, len(rest)):]
	}
	return params
}
