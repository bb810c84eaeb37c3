// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"fmt"
	"log/slog"

	"github.com/pion/logging"
)

// stackLogs takes what the WebRTC stack has to say. Its words are for who debugs the stack, and partly
// a stranger's (addresses, malformed packets); so warnings and errors go out at debug level, cut to a
// line's length, and the rest nowhere.
type stackLogs struct{ log *slog.Logger }

const stackLineMax = 256

func (s stackLogs) NewLogger(scope string) logging.LeveledLogger {
	return stackLogger{s.log.With("stack", scope)}
}

type stackLogger struct{ log *slog.Logger }

func (l stackLogger) line(text string) { l.log.Debug(text[:min(len(text), stackLineMax)]) }

func (l stackLogger) Trace(string)                   {}
func (l stackLogger) Tracef(string, ...any)          {}
func (l stackLogger) Debug(string)                   {}
func (l stackLogger) Debugf(string, ...any)          {}
func (l stackLogger) Info(string)                    {}
func (l stackLogger) Infof(string, ...any)           {}
func (l stackLogger) Warn(text string)               { l.line(text) }
func (l stackLogger) Warnf(format string, a ...any)  { l.line(fmt.Sprintf(format, a...)) }
func (l stackLogger) Error(text string)              { l.line(text) }
func (l stackLogger) Errorf(format string, a ...any) { l.line(fmt.Sprintf(format, a...)) }
