// Package bundle will turn a wrangler project into a program and its configuration.
package bundle
