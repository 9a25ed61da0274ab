//! One ALFWorld episode of 50 steps, reset and lists of admissible actions included.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sapo_core::env::Environment;
use sapo_envs::alfworld::AlfWorld;

const STEPS: usize = 50;

fn episode(criterion: &mut Criterion) {
    let game = sapo_benches::game();
    let mut world = AlfWorld::new();
    let mut group = criterion.benchmark_group("alfworld");
    group.throughput(Throughput::Elements(STEPS as u64));
    group.bench_function("episode of 50 steps", |bencher| {
        bencher.iter(|| {
            let mut seen = world.reset(&game).expect("a game resets");
            for step in 0..STEPS {
                let action = &seen.admissible[step * 7 % seen.admissible.len()];
                seen = world.step(&action.clone()).expect("a game steps").observation;
            }
            black_box(seen)
        });
    });
    group.finish();
}

criterion_group!(benches, episode);
criterion_main!(benches);
