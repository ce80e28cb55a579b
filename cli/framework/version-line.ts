import { PRODUCT_COMMIT, PRODUCT_VERSION } from '../../packages/process/product-version.ts';

/** Which program this is, in one line for people and for reports of bugs. */
export const versionLine = (node: string, commit = PRODUCT_COMMIT): string =>
  `fleetgc ${PRODUCT_VERSION} (${commit === null ? '' : `commit ${commit}, `}Node.js ${node})`;
