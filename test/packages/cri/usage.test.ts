import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CompleteListing, ListedContainer, ListedImage } from '../../../packages/cri/listing-types.ts';
import { type ImageUsage, imageUsage } from '../../../packages/cri/usage.ts';
import {
  completeListing,
  digestOf,
  imageSpec,
  listedContainer,
  listedSandbox,
  runtimeImage,
} from '../../fixtures/listing.ts';

const APP = runtimeImage('app');
const OTHER = runtimeImage('other');
const IMAGES = [APP, OTHER];
const FULL_NAME = 'registry.example/team/app:1';
const HEX = APP.id.replace('sha256:', '');

const used = ({ users }: ImageUsage): string[] =>
  [...users].filter(([, by]) => by.length > 0).map(([id]) => id);

const usageOf = (over: Partial<CompleteListing>): ImageUsage =>
  imageUsage(completeListing({ images: IMAGES, ...over }), []);

describe('a container uses its image', () => {
  test.each<{ name: string; container: Partial<ListedContainer> }>([
    { name: '[C8] by image_id', container: { imageId: APP.id } },
    { name: '[C8] by image_ref, where image_id is empty', container: { imageRef: APP.id } },
    { name: '[C8] by image.image', container: { image: imageSpec({ image: APP.id }) } },
    { name: 'by image.image_ref', container: { image: imageSpec({ imageRef: APP.id }) } },
    { name: 'by user_specified_image', container: { image: imageSpec({ userSpecifiedImage: FULL_NAME }) } },
    { name: 'by id without algorithm', container: { imageId: HEX } },
    { name: 'by abbreviated id', container: { imageRef: HEX.slice(0, 12) } },
    { name: 'by abbreviated id with algorithm', container: { imageRef: `sha256:${HEX.slice(0, 12)}` } },
    {
      name: 'by name and digest, as older CRI-O writes image_ref',
      container: { imageRef: `registry.example/team/app@${digestOf('app manifest')}` },
    },
    { name: 'by digest alone', container: { imageRef: digestOf('app manifest') } },
    {
      name: 'by name, tag and digest',
      container: { image: imageSpec({ image: `${FULL_NAME}@${digestOf('unknown')}` }) },
    },
    { name: 'by a name with transport', container: { imageRef: `docker-pullable://${FULL_NAME}` } },
    { name: 'by a name without registry', container: { image: imageSpec({ image: 'team/app:1' }) } },
    {
      name: 'by repository alone, when its tag has moved on',
      container: { image: imageSpec({ image: 'registry.example/team/app:2' }) },
    },
    {
      name: 'as an image volume [C9, M19]',
      container: { imageId: digestOf('x'), mountedImages: [imageSpec({ image: APP.id })] },
    },
    {
      name: 'as an image volume by name [M19]',
      container: { imageId: digestOf('x'), mountedImages: [imageSpec({ userSpecifiedImage: FULL_NAME })] },
    },
  ])('$name', ({ container }) => {
    const usage = usageOf({ containers: [listedContainer('c', container)] });
    expect(used(usage)).toEqual([APP.id]);
    expect(usage.users.get(APP.id)).toEqual([{ kind: 'container', id: 'c' }]);
    expect(usage.containersWithoutImage).toEqual([]);
  });

  test('[C10, M5] what pods want is known once a kubelet told it, though it be nothing', () => {
    const listing = completeListing({ images: [APP] });
    expect(imageUsage(listing, null)).toMatchObject({ podImagesKnown: false });
    expect(imageUsage(listing, [])).toMatchObject({ podImagesKnown: true });
  });

  test.each(['image-2', '2', 'Layer 7!', 'a'.repeat(64)])(
    '[C5, C8] by its id %s, which has no algorithm',
    (id) => {
      const images = [APP, runtimeImage('opaque', { id, repoTags: [], repoDigests: [] })];
      for (const container of [{ imageId: id }, { imageRef: id }, { image: imageSpec({ image: id }) }]) {
        const usage = usageOf({ images, containers: [listedContainer('c', container)] });
        expect(used(usage)).toEqual([id]);
        expect(usage.containersWithoutImage).toEqual([]);
      }
    },
  );

  test.each(['created', 'running', 'exited', 'unknown'] as const)('[C8] in the state %s', (state) => {
    expect(used(usageOf({ containers: [listedContainer('c', { state, imageId: APP.id })] }))).toEqual([
      APP.id,
    ]);
  });

  test('and no other version of it, when its id is known', () => {
    const older = runtimeImage('older', {
      repoTags: [],
      repoDigests: [`registry.example/team/app@${digestOf('old')}`],
    });
    const container = listedContainer('c', { imageId: APP.id, image: imageSpec({ image: FULL_NAME }) });
    expect(used(usageOf({ images: [APP, older], containers: [container] }))).toEqual([APP.id]);
  });

  test('in any version, when its tag is now the name of another image and nothing else tells which it runs', () => {
    const older = runtimeImage('older', {
      repoTags: [],
      repoDigests: [`registry.example/team/app@${digestOf('old')}`],
    });
    const container = listedContainer('c', { image: imageSpec({ image: FULL_NAME }) });
    expect(used(usageOf({ images: [APP, older, OTHER], containers: [container] }))).toEqual([
      APP.id,
      older.id,
    ]);
  });

  test('whichever of several references leads to which image', () => {
    const container = listedContainer('c', { imageId: APP.id, imageRef: OTHER.id });
    expect(used(usageOf({ containers: [container] }))).toEqual([APP.id, OTHER.id]);
  });

  test('once, however often it names it', () => {
    const container = listedContainer('c', {
      imageId: APP.id,
      imageRef: APP.id,
      mountedImages: [imageSpec({ image: APP.id })],
    });
    expect(usageOf({ containers: [container] }).users.get(APP.id)).toHaveLength(1);
  });
});

describe('names mean the same with and without what is understood', () => {
  const wantedBy = (name: string, images: readonly ListedImage[]): string[] =>
    used(imageUsage(completeListing({ images }), [{ uid: 'uid', images: [name], finished: false }]));

  test.each([
    { listed: 'docker.io/library/nginx:latest', named: 'nginx' },
    { listed: 'docker.io/library/nginx:1', named: 'nginx:1' },
    { listed: 'docker.io/library/nginx:1', named: 'docker.io/nginx:1' },
    { listed: 'docker.io/library/nginx:1', named: 'index.docker.io/library/nginx:1' },
    { listed: 'docker.io/team/app:1', named: 'team/app:1' },
    { listed: 'nginx:1', named: 'docker.io/library/nginx:1' },
    { listed: 'localhost/app:1', named: 'app:1' },
    { listed: 'quay.io/team/app:1', named: 'team/app:1' },
    { listed: 'registry.example:5000/app:latest', named: 'registry.example:5000/app' },
    {
      listed: `registry.example/app:${'0123456789abcdef'.repeat(2)}`,
      named: `registry.example/app:${'0123456789abcdef'.repeat(2)}`,
    },
    {
      listed: `docker.io/library/app:${'0123456789abcdef'.repeat(2)}`,
      named: `app:${'0123456789abcdef'.repeat(2)}`,
    },
  ])('$named is $listed', ({ listed, named }) => {
    const image = runtimeImage('image', { repoTags: [listed], repoDigests: [] });
    expect(wantedBy(named, [image, OTHER])).toEqual([image.id]);
  });

  test.each([
    { listed: 'docker.io/library/nginx:1', named: 'quay.io/library/nginx:1' },
    { listed: 'registry.example/app-two:1', named: 'registry.example/app:1' },
  ])('$named is not $listed', ({ listed, named }) => {
    const image = runtimeImage('image', { repoTags: [listed], repoDigests: [] });
    expect(wantedBy(named, [image])).toEqual([]);
  });
});

describe('a container without a usable image reference is reported', () => {
  test.each<{ name: string; container: Partial<ListedContainer>; reported: boolean }>([
    { name: 'all empty', container: {}, reported: true },
    { name: 'white space', container: { imageRef: '  ' }, reported: true },
    { name: 'no name at all', container: { imageRef: '<none>:<none>' }, reported: true },
    {
      name: 'an image volume without a name [M19]',
      container: { imageId: APP.id, mountedImages: [imageSpec()] },
      reported: true,
    },
    { name: 'one usable among empty ones', container: { imageRef: APP.id }, reported: false },
    { name: 'an image that is gone', container: { imageId: digestOf('gone') }, reported: false },
    {
      name: 'a running one whose names lead to no listed image, as after a pull through a mirror',
      container: {
        imageRef: `mirror.internal:5000/app@${digestOf('unknown')}`,
        image: imageSpec({ image: 'mirror.internal:5000/app:1' }),
      },
      reported: true,
    },
    {
      name: 'a created one whose digest alone leads to no listed image',
      container: { state: 'created', imageRef: digestOf('unknown') },
      reported: true,
    },
    {
      name: 'a running one whose image volume leads to no listed image',
      container: { imageId: APP.id, mountedImages: [imageSpec({ image: 'mirror.internal:5000/data:1' })] },
      reported: true,
    },
    {
      name: 'a dead one whose names lead to no listed image',
      container: { state: 'exited', imageRef: `mirror.internal:5000/app@${digestOf('unknown')}` },
      reported: false,
    },
  ])('$name: $reported', ({ container, reported }) => {
    const usage = usageOf({ containers: [listedContainer('c', container)] });
    expect(usage.containersWithoutImage).toEqual(reported ? ['c'] : []);
  });
});

describe('a pod wants its images [C10]', () => {
  const pod = { uid: 'uid', images: [FULL_NAME], finished: false };

  test('before it has containers', () => {
    const usage = imageUsage(completeListing({ images: IMAGES }), [pod]);
    expect(usage.users.get(APP.id)).toEqual([{ kind: 'pod', id: 'uid' }]);
  });

  test('not once it is finished', () => {
    expect(used(imageUsage(completeListing({ images: IMAGES }), [{ ...pod, finished: true }]))).toEqual([]);
  });

  test('of the version it names, not of every version', () => {
    const newer = { ...pod, images: ['registry.example/team/app:2'] };
    expect(used(imageUsage(completeListing({ images: IMAGES }), [newer]))).toEqual([]);
  });
});

/** As OpenShift configures it: its repository says nothing. */
const SANDBOX_DIGEST = `quay.io/openshift-release-dev/ocp-v4.0-art-dev@${digestOf('infra manifest')}`;
const BY_DIGEST = runtimeImage('infra', { repoTags: [], repoDigests: [SANDBOX_DIGEST] });
const PINNED_BY_DIGEST = { ...BY_DIGEST, pinned: true };
const PINNED = runtimeImage('pinned', { pinned: true });

describe('sandboxes need their image [M9]', () => {
  test('the one that a sandbox runs on', () => {
    const usage = usageOf({ sandboxes: [listedSandbox('s', { state: 'notReady', image: FULL_NAME })] });
    expect(usage.users.get(APP.id)).toEqual([{ kind: 'sandbox', id: 's' }]);
  });

  test('the one that new sandboxes get [C11]', () => {
    const usage = usageOf({ configuredSandboxImage: FULL_NAME });
    expect(usage.users.get(APP.id)).toEqual([{ kind: 'sandbox-image', id: FULL_NAME }]);
  });

  test.each<{ name: string; listing: Partial<CompleteListing>; known: boolean }>([
    { name: 'the runtime tells it', listing: { configuredSandboxImage: FULL_NAME }, known: true },
    { name: 'the runtime tells nothing', listing: { configuredSandboxImage: '' }, known: false },
    ...[
      { repoTags: ['registry.k8s.io/pause:3.10'], known: true },
      { repoTags: ['rancher/mirrored-pause:3.6'], known: true },
      { repoTags: ['registry.example:5000/pause'], known: true },
      { repoTags: [], repoDigests: [`registry.example/eks/pause@${digestOf('pause')}`], known: true },
      { repoTags: ['registry.example/pause/app:1'], known: false },
      { repoTags: ['registry.example/team/unpause:1'], known: false },
      { repoTags: ['registry.example/team/app:pause'], known: false },
      { repoTags: [], repoDigests: [], known: false },
    ].map(({ known, ...names }) => ({
      name: `the runtime tells nothing but pins ${names.repoTags[0] ?? names.repoDigests?.[0] ?? 'an image without name'}`,
      listing: {
        configuredSandboxImage: '',
        images: [runtimeImage('pinned', { repoDigests: [], ...names, pinned: true })],
      },
      known,
    })),
    {
      name: 'the runtime tells nothing and does not pin the image that is named so',
      listing: {
        configuredSandboxImage: '',
        images: [runtimeImage('pause', { repoTags: ['registry.k8s.io/pause:3.10'] })],
      },
      known: false,
    },
    {
      name: 'the runtime tells nothing but pins what a sandbox runs on',
      listing: {
        configuredSandboxImage: '',
        images: [runtimeImage('infra', { pinned: true })],
        sandboxes: [listedSandbox('s', { image: digestOf('infra') })],
      },
      known: true,
    },
    {
      name: 'the runtime tells nothing and a sandbox runs on an image that is not pinned',
      listing: {
        configuredSandboxImage: '',
        images: [runtimeImage('infra'), runtimeImage('app', { pinned: true })],
        sandboxes: [listedSandbox('s', { image: digestOf('infra') })],
      },
      known: false,
    },
    {
      name: 'a sandbox runs on we do not know what',
      listing: { sandboxes: [listedSandbox('s'), listedSandbox('t', { image: FULL_NAME })] },
      known: false,
    },
    ...[
      { what: 'pins it, and no sandbox tells its own', images: [PINNED_BY_DIGEST], known: true },
      { what: 'does not pin it, and no sandbox tells its own', images: [BY_DIGEST], known: false },
      { what: 'pins another, and no sandbox tells its own', images: [BY_DIGEST, PINNED], known: false },
      { what: 'does not list it, and no sandbox tells its own', images: [PINNED], known: false },
    ].map(({ what, images, known }) => ({
      name: `the runtime tells one by digest and ${what}, as CRI-O`,
      listing: { images, configuredSandboxImage: SANDBOX_DIGEST, sandboxes: [listedSandbox('s')] },
      known,
    })),
    {
      name: 'two images are called so and one of them is pinned',
      listing: {
        images: [
          runtimeImage('one', { repoTags: ['infra:1'], pinned: true }),
          runtimeImage('two', { repoTags: ['quay.io/infra:1'] }),
        ],
        configuredSandboxImage: 'infra:1',
        sandboxes: [listedSandbox('s')],
      },
      known: false,
    },
    {
      name: 'every sandbox tells',
      listing: { sandboxes: [listedSandbox('t', { image: FULL_NAME })] },
      known: true,
    },
  ])('known when $name: $known', ({ listing, known }) => {
    expect(usageOf(listing).sandboxImageKnown).toBe(known);
  });
});

test('an image without users has an empty list, not none', () => {
  expect(usageOf({}).users).toEqual(
    new Map([
      [APP.id, []],
      [OTHER.id, []],
    ]),
  );
});

test('more containers never make an image less used [K2]', () => {
  const reference = fc.constantFrom('', APP.id, OTHER.id, HEX, FULL_NAME, 'app', '<none>', digestOf('gone'));
  const container = fc
    .record({ imageId: reference, imageRef: reference, image: reference })
    .map(({ image, ...over }) => listedContainer('c', { ...over, image: imageSpec({ image }) }));
  fc.assert(
    fc.property(fc.array(container), fc.array(container), (some, more) => {
      const before = used(usageOf({ containers: some }));
      expect(used(usageOf({ containers: [...some, ...more] }))).toEqual(expect.arrayContaining(before));
    }),
  );
});
