// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/spf13/cobra"

	"spawn/docs"
)

func guideCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "agent-guide",
		Short: "Print how programs use terminals, as a text for them",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), docs.Agents)
			return err
		},
	}
}
