package env

import (
	"net/http"
	"net/url"
	"strconv"
)

// statusTextHeader carries a response's status text from an object to its caller, for what is between knows only codes.
const statusTextHeader = "Tandem-Status-Text"

// PackStatus keeps the status text of a script's response in header, if it is not the usual one.
func PackStatus(resp *http.Response, header http.Header) {
	if len(resp.Status) > 4 && resp.Status[4:] != http.StatusText(resp.StatusCode) {
		header.Set(statusTextHeader, url.QueryEscape(resp.Status[4:]))
	}
}

// unpackStatus gives an object's response the status text that PackStatus kept.
func unpackStatus(resp *http.Response) {
	text := http.StatusText(resp.StatusCode)
	if packed := resp.Header.Get(statusTextHeader); packed != "" {
		if own, err := url.QueryUnescape(packed); err == nil {
			text = own
		}
		resp.Header.Del(statusTextHeader)
	}
	resp.Status = strconv.Itoa(resp.StatusCode) + " " + text
}
