/** A program of which new versions keep being released. */
export interface Application {
  readonly repository: string;
  readonly sizeBytes: bigint;
  /** One application runs as a single container, or with another beside it. */
  readonly sidecar?: string;
}

const MB = 1_000_000n;
const PROXY = 'registry.example/platform/proxy:1.30.2';

/** The most often deployed first. Sizes are those that such images have on disk. */
export const CATALOGUE: readonly [Application, ...Application[]] = [
  { repository: 'registry.example/shop/checkout', sizeBytes: 310n * MB, sidecar: PROXY },
  { repository: 'registry.example/shop/catalogue', sizeBytes: 280n * MB },
  { repository: 'registry.example/shop/recommendations', sizeBytes: 1_450n * MB },
  { repository: 'registry.example/payments/ledger', sizeBytes: 420n * MB, sidecar: PROXY },
  { repository: 'registry.example/search/indexer', sizeBytes: 690n * MB },
  { repository: 'registry.example/web/storefront', sizeBytes: 190n * MB },
  { repository: 'registry.example/data/nightly-report', sizeBytes: 880n * MB },
  { repository: 'registry.example/ci/build-tools', sizeBytes: 1_900n * MB },
  { repository: 'registry.example/mail/sender', sizeBytes: 150n * MB },
  { repository: 'registry.example/media/thumbnailer', sizeBytes: 540n * MB },
  { repository: 'registry.example/ml/fraud-model', sizeBytes: 2_300n * MB },
  { repository: 'registry.example/platform/log-shipper', sizeBytes: 95n * MB },
];

/** The image of an application's n-th release: the twelfth is `1.2.2`. */
export const versionOf = ({ repository }: Application, release: number): string =>
  `${repository}:1.${Math.floor(release / 5)}.${release % 5}`;

export const applicationName = ({ repository }: Application): string =>
  repository.slice(repository.lastIndexOf('/') + 1);

export const applicationNamespace = ({ repository }: Application): string => repository.split('/')[1] ?? '';
