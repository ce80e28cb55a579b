import type { Facts, Kept } from './conclusion.ts';

/** What of a policy's `keep` keeps an object, by the fact that its verdict has of it (M11). */
const BY_FACT: Readonly<Record<string, (entry: Facts[string]) => string>> = {
  keptBy: (entry) => `kept by ${entry}`,
  // Said of an image of a pod that has neither container nor sandbox.
  keptNamespace: (namespace) =>
    namespace === 'unknown'
      ? 'used by a pod whose namespace is not known'
      : `in the kept namespace ${namespace}`,
  // Of containers, sandboxes and logs.
  namespace: (namespace) =>
    namespace === null || namespace === ''
      ? 'its namespace is not known'
      : `in the kept namespace ${namespace}`,
  keptVersionOf: (repository) => `one of the last versions of ${repository}`,
  unpullable: (why) => `cannot be pulled again: ${why}`,
};

/** `undefined` where the keep list says nothing of the object. */
export function keepListText({ rule, facts }: Kept): string | undefined {
  if (rule !== 'M11') return undefined;
  const fact = Object.keys(BY_FACT).find((name) => Object.hasOwn(facts, name));
  return fact === undefined ? undefined : BY_FACT[fact]?.(facts[fact] ?? null);
}

/** A reason as it is counted: without the repository, of which a node has many. */
export const countedAs = (because: string, { facts }: Pick<Kept, 'facts'>): string =>
  facts.keptVersionOf === undefined ? because : 'one of the last versions of a repository';
