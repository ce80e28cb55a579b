import { z } from 'zod';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { FilePath, Switch, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import type { WithoutTopics } from '../../services/deciders/functions/open-function.ts';
import { fileSource, urlSource } from '../../services/deciders/functions/policies/document-source.ts';
import { LongDuration } from './time-options.ts';

/** Where policies come from. */
type PolicyPlace =
  | { readonly kind: 'topic' }
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'file'; readonly path: string };

const PolicyPlaceOption = withMeta(
  z.string().transform((text, context): PolicyPlace => {
    if (text === 'topic') return { kind: 'topic' };
    if (!/^[a-z]+:\/\//i.test(text) && text !== '') return { kind: 'file', path: text };
    const url = URL.parse(text);
    if (url?.protocol === 'https:' && url.username === '' && url.password === '') return { kind: 'url', url };
    context.addIssue({
      code: 'custom',
      message: 'must be a file, an https address without a login, or topic',
    });
    return z.NEVER;
  }),
  { placeholder: 'FILE|URL|topic' },
);

/** For a decision service that is called. */
export const functionOptions = {
  policy: withMeta(PolicyPlaceOption.optional(), {
    description:
      'Where policies come from: a document that "fleetgc policy export" writes, as a file or at an https address, or the topic. Without it everything is kept.',
  }),
  policyMaxAge: withMeta(LongDuration.prefault('24h'), {
    description: 'How old such a document may become; then nothing is decided until there is another.',
  }),
  policyCaFile: withMeta(FilePath.optional(), {
    description: 'Certificate authorities that sign the certificate of that address, PEM.',
  }),
  policyTokenFile: withMeta(FilePath.optional(), {
    description: 'File of the token that is shown to that address.',
  }),
  publish: withMeta(Switch.prefault('false'), {
    description: 'Write what follows to the event log. Else it is in the answer.',
  }),
};

const FunctionOptions = z.object(functionOptions);
type Given = z.infer<typeof FunctionOptions>;
interface Trusting {
  readonly trust?: 'required' | 'warn' | 'off' | undefined;
}

/** The document; `null` without one, and where the topic is followed. Throws `CONFIG_INVALID`. */
export function readDocument(given: Given & Trusting): WithoutTopics['document'] {
  const { policy, policyMaxAge: maxAgeMs, policyCaFile, policyTokenFile } = given;
  if (policy?.kind !== 'url' && (policyCaFile !== undefined || policyTokenFile !== undefined))
    throw configError(['--policy-ca-file and --policy-token-file have no effect without --policy https://…']);
  switch (policy?.kind) {
    case undefined:
    case 'topic':
      return null;
    case 'file':
      return { source: fileSource(policy.path), maxAgeMs };
    case 'url':
      if (given.trust !== 'required') throw configError([UNSIGNED_URL]);
      return {
        source: urlSource({
          url: policy.url,
          ca: textOf('--policy-ca-file', policyCaFile),
          token: textOf('--policy-token-file', policyTokenFile)?.trim() ?? null,
        }),
        maxAgeMs,
      };
  }
}

const UNSIGNED_URL =
  '--policy https://… needs --trust required: whoever answers there would say what may be removed';

/** `null` where no file is named. Throws `CONFIG_INVALID`. */
export function textOf(flag: string, path: string | undefined): string | null {
  if (path === undefined) return null;
  const file = readTextFile(path);
  if (!file.ok) throw configError([`${flag} ${path}: ${file.reason}`]);
  return file.text;
}
