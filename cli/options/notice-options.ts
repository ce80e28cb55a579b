import { FilePath, withMeta } from '../../packages/process/options/options.ts';

/** Who is told what. */
export const rulesOption = withMeta(FilePath, {
  placeholder: 'FILE',
  description: 'File that names receivers and rules, in YAML or JSON.',
});
