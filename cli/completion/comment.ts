import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';

/** Which release a script is of, since a newer one knows other verbs. */
export const versionComment = (shell: string): string =>
  `# Completion of fleetgc ${PRODUCT_VERSION} for ${shell}, as "fleetgc completion ${shell}" prints it.`;
