// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// yamlFile is a configuration file: the long flags' names with their values.
type yamlFile struct {
	values map[string]any
}

// loadYAML reads one. JSON is YAML, so that works too.
func loadYAML(r io.Reader) (kong.Resolver, error) {
	b, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, err
	}
	f := &yamlFile{}
	if err := yaml.UnmarshalWithOptions(b, &f.values, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	return f, nil
}

// Validate refuses keys that are no flag of any verb: a typing mistake must not
// be ignored.
func (f *yamlFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	var collect func(*kong.Node)
	collect = func(n *kong.Node) {
		for _, fl := range n.Flags {
			known[fl.Name] = true
		}
		for _, c := range n.Children {
			collect(c)
		}
	}
	collect(app.Node)
	for _, k := range slices.Sorted(maps.Keys(f.values)) {
		if !known[k] || k == "help" || k == "config" {
			return fmt.Errorf("configuration file: %q is no option; use the long flags' names", k)
		}
	}
	return nil
}

// Resolve implements kong.Resolver.
func (f *yamlFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	v, ok := f.values[flag.Name]
	if !ok {
		return nil, nil
	}
	switch v := v.(type) {
	case nil:
		return nil, fmt.Errorf("configuration file: %s has no value", flag.Name)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, fmt.Sprint(e))
		}
		return strings.Join(parts, ","), nil
	case map[string]any:
		return nil, fmt.Errorf("configuration file: %s takes a value, not a group of keys", flag.Name)
	}
	return fmt.Sprint(v), nil
}
