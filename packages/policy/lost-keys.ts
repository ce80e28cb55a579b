import { isPauseKey, selectorOfPauseKey } from '../../schemas/policy/policy.ts';
import { deleteCommand, resumeCommand } from './ending-commands.ts';
import { selectorText } from './selector-text.ts';

/**
 * What `gc.policies` no longer holds, by keys, and what people do about it. `isRemembered`: whether a process that starts knows of it
 * too.
 */
export function lossProblem(lost: readonly string[], isRemembered: boolean): string {
  const policies = lost.filter((key) => !isPauseKey(key));
  const pauses = lost.filter(isPauseKey);
  const what = [...policies.map(quoted), ...pauses.map(pauseName)].join(', ');
  return [
    `gc.policies no longer holds ${what} although nobody deleted it: the topic was recreated or cut off`,
    ...aboutPolicies(policies),
    ...pauses.flatMap(aboutPause),
    ...(isRemembered ? [] : ['Or restart this process to go on with what the topic holds now']),
  ].join('. ');
}

const aboutPolicies = (names: readonly string[]): readonly string[] =>
  names.length === 0
    ? []
    : [`Apply ${names.map(quoted).join(', ')} again, or write the deletion: ${deleteCommand(names)}`];

function aboutPause(key: string): readonly string[] {
  const selector = selectorOfPauseKey(key);
  const isByOptions = selector !== null && Object.keys(selector.nodeLabels).length === 0;
  return isByOptions ? [`End ${pauseName(key)}: ${resumeCommand(selector)}`] : [];
}

function pauseName(key: string): string {
  const selector = selectorOfPauseKey(key);
  return selector === null ? `the pause ${quoted(key)}` : `the pause of ${selectorText(selector)}`;
}

const quoted = (key: string): string => JSON.stringify(key);
