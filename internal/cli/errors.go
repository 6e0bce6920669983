package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// Exit codes. The commands that call tools also have those of package errclass: the class of the error
// of the last failed tool.
const (
	ExitOK     = 0
	ExitFailed = errclass.ExitFailed
	ExitUsage  = 2
)

// A Reported is an error that the user has already seen. The program exits with its exit code.
type Reported struct{ Exit int }

func (e *Reported) Error() string { return "reported" }

// A classifiedError is an error with an exit code.
type classifiedError struct {
	error
	exit int
}

func (e *classifiedError) Unwrap() error { return e.error }

// WithExit returns err with an exit code of the program.
func WithExit(err error, exit int) error { return &classifiedError{err, exit} }

// ErrorWithHint returns an error with a hint that is not a usage error.
func ErrorWithHint(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrNoBackend, hint, format, args...)
}

// WithHint returns e with another hint.
func WithHint(e *executor.Error, hint string) error {
	c := *e
	c.Hint = hint
	return &c
}

// Fail prints err with its hint and returns the exit code for it.
func Fail(stderr io.Writer, err error) int {
	if seen, ok := errors.AsType[*Reported](err); ok {
		return seen.Exit
	}
	fmt.Fprintf(stderr, "error: %v\n", err)
	if usage, ok := errors.AsType[*UsageError](err); ok {
		if usage.Hint != "" {
			fmt.Fprintf(stderr, "hint: %s\n", usage.Hint)
		}
		return usage.ExitCode()
	}
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", hint.Translate(e.Hint))
	}
	if class, ok := errors.AsType[*classifiedError](err); ok {
		return class.exit
	}
	return ExitFailed
}

// A UsageError is a mistake in flags, environment or policy. The program exits with code 2, or with
// exit if that is not 0.
type UsageError struct {
	Err  error
	Hint string
	Exit int
}

// ExitCode returns the exit code of the program.
func (e *UsageError) ExitCode() int { return cmp.Or(e.Exit, ExitUsage) }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns an error with a hint, which may be empty.
func Usagef(hint, format string, args ...any) *UsageError {
	return &UsageError{Err: fmt.Errorf(format, args...), Hint: hint}
}

// BadCallf returns the error for a call of a tool that is not valid. Its exit code is that of
// BAD_ARGS, which a server returns for other mistakes in a call.
func BadCallf(hint, format string, args ...any) *UsageError {
	e := Usagef(hint, format, args...)
	e.Exit = errclass.ExitBadArgs
	return e
}

// suggest adds the known name that is most similar to given to the hint.
func (e *UsageError) suggest(given string, known map[string]*pflag.Flag) *UsageError {
	best := typo.Nearest(given, maps.Keys(known))
	if best == "" { // a word may be missing, as in --mutations, or superfluous
		word := strings.TrimPrefix(given, "--")
		for name := range known {
			if len(word) < 4 || !strings.Contains(name, word) && !strings.Contains(word, strings.TrimPrefix(name, "--")) {
				continue
			}
			if best == "" || len(name) < len(best) || len(name) == len(best) && name < best {
				best = name
			}
		}
	}
	return e.DidYouMean(best)
}

// DidYouMean adds a name to the hint, unless it is empty.
func (e *UsageError) DidYouMean(name string) *UsageError {
	if name != "" {
		e.Hint = fmt.Sprintf("Did you mean %s? %s", name, e.Hint)
	}
	return e
}

// flagError converts an error of pflag to a *UsageError.
func (s *Settings) flagError(cmd *cobra.Command, err error) error {
	const hint = "`chrome-mcp help flags` lists the flags."
	var (
		missing *pflag.NotExistError
		invalid *pflag.InvalidValueError
		noValue *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &missing):
		name := "--" + missing.GetSpecifiedName()
		if short := missing.GetSpecifiedShortnames(); short != "" {
			name = "-" + short
			for _, arg := range s.args { // short lacks its leading letters that are valid flags
				if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, short) {
					name = arg
					break
				}
			}
		}
		if err := misplaced(cmd, missing.GetSpecifiedName()); err != nil {
			return err
		}
		known := map[string]*pflag.Flag{}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = f })
		return Usagef(hint, "unknown flag %s", name).suggest("--"+strings.TrimLeft(name, "-"), known)
	case errors.As(err, &invalid):
		return Usagef(hint, "--%s: %s", invalid.GetFlag().Name, reason(err))
	case errors.As(err, &noValue):
		return Usagef(hint, "--%s needs a value", noValue.GetSpecifiedName())
	}
	return Usagef(hint, "%v", err)
}

// reason returns what is wrong with a flag value, without pflag's wording.
func reason(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	if invalid.GetFlag().Value.Type() == "bool" {
		return fmt.Sprintf("invalid boolean %q", invalid.GetValue())
	}
	if _, ok := errors.AsType[*strconv.NumError](err); ok {
		return fmt.Sprintf("%q is not a number", invalid.GetValue())
	}
	return cmp.Or(errors.Unwrap(invalid), err).Error()
}
