package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// newVersion returns `tandem version`.
func newVersion(sys system) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print module, version, commit and Go version", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(sys.stdout, version())
			return err
		},
	}
}

// version describes the build, one fact a line.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "tandem, built without module information\n"
	}
	commit, modified := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " (modified)"
		}
	}
	return fmt.Sprintf("module   %s\nversion  %s\ncommit   %s%s\ngo       %s\n",
		info.Main.Path, info.Main.Version, commit, modified, info.GoVersion)
}

// buildVersion is the version alone, for telemetry.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
