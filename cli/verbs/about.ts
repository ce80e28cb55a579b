import { z } from 'zod';
import { FROZEN_DECIDERS } from '../../packages/audit/deciders/deciders.ts';
import { withMeta } from '../../packages/process/options/options.ts';
import { PRODUCT_COMMIT, PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { bashScript, fishScript, zshScript } from '../completion/shells.ts';
import { type Completed, completedVerbs, kubectlAnswer } from '../completion/verbs.ts';
import { outputOptions, printResult } from '../framework/output.ts';
import { versionLine } from '../framework/program.ts';
import { defineVerb, type Verb } from '../framework/verb.ts';

export const versionVerb = defineVerb({
  help: [
    'Prints one line, as "fleetgc --version" does. With -o json it also prints the platform, and for each decider of this release the SHA-256 of its frozen bundle: programs with the same hashes make the same decisions. The commit is present only if the program was built from unmodified sources.',
  ],
  examples: ['fleetgc version', 'fleetgc version -o json'],
  options: z.object(outputOptions),
  run: async ({ output }, context) => {
    const { node } = process.versions;
    const value = {
      version: PRODUCT_VERSION,
      commit: PRODUCT_COMMIT,
      node,
      platform: `${process.platform}-${process.arch}`,
      deciders: FROZEN_DECIDERS,
    };
    await printResult(context, output, { value, lines: [versionLine(node)] });
  },
});

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const satisfies Record<
  string,
  (completed: Completed) => string
>;

/** What kubectl is told at a press of TAB, where it asks for what follows these words. */
export const answerToKubectl = (verbs: readonly Verb[], words: readonly string[]): string =>
  kubectlAnswer(completedVerbs(verbs), words);

export const completionVerb = defineVerb({
  help: [
    'The script knows the verbs and options of this release: print it again after an upgrade. The shell starts nothing when TAB is pressed.',
    'For good: put the line of the example into ~/.bashrc, or into ~/.zshrc after compinit; for fish write the script to ~/.config/fish/completions/fleetgc.fish.',
  ],
  examples: [
    'fleetgc completion bash > /etc/bash_completion.d/fleetgc',
    'source <(fleetgc completion bash)',
    'source <(fleetgc completion zsh)',
    'fleetgc completion fish | source',
  ],
  options: z.object({
    shell: withMeta(z.enum(['bash', 'zsh', 'fish']), {
      positional: true,
      placeholder: 'SHELL',
      description: 'bash, zsh or fish.',
    }),
  }),
  run: async ({ shell }, { write, allVerbs }) => {
    await write(SCRIPTS[shell](completedVerbs(await allVerbs())));
  },
});
