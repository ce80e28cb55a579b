import type { NodeSelector } from '../../schemas/policy/policy.ts';
import { shellWord } from '../text/shell-word.ts';

/** The command that ends a pause by its options, to be typed in a shell: there is none for labels. */
export const resumeCommand = ({ clusters, nodeNames, pools }: NodeSelector): string =>
  [
    'fleetgc resume',
    ...optionText('--cluster', clusters),
    ...optionText('--node-name', nodeNames),
    ...optionText('--pool', pools),
  ].join(' ');

/** The command that deletes the policies of these names. */
export const deleteCommand = (names: readonly string[]): string =>
  ['fleetgc policy delete', ...names.map(shellWord)].join(' ');

/** The same command for an event log in a file. */
export const onEmbeddedLog = (command: string, path: string): string =>
  [command, '--log embedded', ...optionText('--log-path', [path])].join(' ');

export const optionText = (flag: string, values: readonly string[]): readonly string[] =>
  values.length === 0 ? [] : [flag, shellWord(values.join(','))];
