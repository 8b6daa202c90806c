package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/durableobject/mcpsession/sources"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/connect"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/pool"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/seal"
)

const (
	// secretsKeyVariable may hold the key itself: no flag shows it.
	secretsKeyVariable = "TANDEM_SECRETS_KEY"
	// secretsKeyFile is where the key is in a host's state directory if it is nowhere else.
	secretsKeyFile = "secrets.key"
)

// sourceFlags are the flags of the object host about sources of tools.
type sourceFlags struct {
	allowPrivate bool
	keyFile      string
	callTimeout  time.Duration
}

// add adds the flags with their defaults.
func (f *sourceFlags) add(fs *pflag.FlagSet) {
	f.callTimeout = time.Minute
	addAllowPrivateFlag(fs, &f.allowPrivate)
	fs.Var(durationValue{&f.callTimeout, time.Second, 5 * time.Minute}, "source-timeout", "how long a call of a source may take")
	fs.StringVar(&f.keyFile, "secrets-key-file", "", "key of sources' secrets (default: $"+secretsKeyVariable+
		", or secrets.key in --state-dir)")
}

// addAllowPrivateFlag adds --allow-private-sources.
func addAllowPrivateFlag(fs *pflag.FlagSet, target *bool) {
	fs.BoolVar(target, "allow-private-sources", false, "let sources of tools have loopback and private addresses")
}

// openSources are what the classes reach sources with.
type openSources struct {
	options sources.Options
	close   func()
}

// open makes the options of the classes.
func (f *sourceFlags) open(dir string, lookup func(string) (string, bool), log *slog.Logger) (*openSources, error) {
	sealer, err := f.sealer(dir, lookup)
	if err != nil {
		return nil, usageError{err}
	}
	connector := connect.New(connect.Options{
		AllowPrivate: f.allowPrivate, CallTimeout: f.callTimeout, Version: buildVersion(), Log: log,
	})
	connections := pool.New(pool.Options{CallTimeout: f.callTimeout, Log: log})
	return &openSources{
		options: sources.Options{Connector: connector, Pool: connections, Sealer: sealer},
		close: func() {
			connections.Close()
			connector.Close()
		},
	}, nil
}

// sealer returns what seals secrets. A key that is given must be right at once; the one in the state directory is made
// when the first secret needs it.
func (f *sourceFlags) sealer(dir string, lookup func(string) (string, bool)) (func() (*seal.Sealer, error), error) {
	text, _ := lookup(secretsKeyVariable)
	var key seal.Key
	var err error
	switch {
	case f.keyFile != "" && text != "":
		return nil, fmt.Errorf("--secrets-key-file and $%s exclude each other", secretsKeyVariable)
	case text != "":
		if key, err = seal.ParseKey(text); err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", secretsKeyVariable, err)
		}
	case f.keyFile != "":
		if key, err = seal.ReadKey(f.keyFile); err != nil {
			return nil, fmt.Errorf("--secrets-key-file: %w", err)
		}
	default:
		return sync.OnceValues(func() (*seal.Sealer, error) {
			key, err := seal.ReadOrCreateKey(filepath.Join(dir, secretsKeyFile))
			if err != nil {
				return nil, err
			}
			return seal.New(key)
		}), nil
	}
	s, err := seal.New(key)
	return func() (*seal.Sealer, error) { return s, nil }, err
}
