// Package page renders the worker's pages for people: HTML from html/template, complete in one response, without
// scripts and without anything from elsewhere.
//
// Every page has a Content-Security-Policy that allows the one style sheet in it and forms to the worker itself, may not
// be framed or cached, and tells no other site where its reader came from. A page is built in full before the first
// byte of it is sent, so a fault gives an error and not half a page.
//
// The packages that show pages parse their templates with Parse, beside the layout: "top" and "bottom", which take a
// value that embeds Head, and the page "message". A Set may be used from any goroutine.
package page
