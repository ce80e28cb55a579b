import { z } from 'zod';
import { withMeta } from '../../packages/process/options/options.ts';
import { bashScript, fishScript, zshScript } from '../completion/shells.ts';
import { type Completed, completedVerbs, kubectlAnswer } from '../completion/verbs.ts';
import { defineVerb, type Verb } from '../framework/verb.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const satisfies Record<
  string,
  (completed: Completed) => string
>;

/** What kubectl is told at a press of TAB, where it asks for what follows these words. */
export const answerToKubectl = (verbs: readonly Verb[], words: readonly string[]): string =>
  kubectlAnswer(completedVerbs(verbs), words);

export const verb = defineVerb({
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
