// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"context"
	"errors"
	"fmt"
)

// Run is not there yet: it needs the console's virtual terminal modes.
func Run(context.Context, Options) (Outcome, error) {
	return Outcome{}, fmt.Errorf("attach: %w", errors.ErrUnsupported)
}
