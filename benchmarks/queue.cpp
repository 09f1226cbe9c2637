// The benchmark queue as a C++ programmer would write it: clocks of the next events, the waiting
// pages in an array, numpy's PCG64 and its exponential numbers from numpy's own library.
//
// Robots, services and obsolescence timers have a stream each. Arguments: the horizon, then for
// each stream the high and low words of its state and of its increment. Prints pages delivered,
// lost, obsolete and served, the mean level, the mean sojourn time of served pages, and the CPU
// seconds that the simulation took.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>

#include <numpy/random/bitgen.h>

extern "C" double random_standard_exponential(bitgen_t *);

namespace {

constexpr int ROBOTS = 4, FEWER_ROBOTS = 2, THRESHOLD = 13, WAITING_PLACES = 19;
constexpr double NEVER = std::numeric_limits<double>::infinity();
constexpr double ACCESS_MEAN = 1.0 / 0.55;

using Word = unsigned __int128;

struct Stream {
    Word state, increment;
    bitgen_t numbers;

    uint64_t next() {
        constexpr Word FACTOR = (Word(0x2360ED051FC65DA4ULL) << 64) | 0x4385DF649FCCF645ULL;
        state = state * FACTOR + increment;
        const uint64_t folded = uint64_t(state >> 64) ^ uint64_t(state);
        const unsigned turn = unsigned(state >> 122);
        return (folded >> turn) | (folded << ((64 - turn) & 63));
    }
    double uniform() { return double(next() >> 11) * (1.0 / 9007199254740992.0); }
    double exponential() { return random_standard_exponential(&numbers); }
};

uint64_t next_word(void *stream) { return static_cast<Stream *>(stream)->next(); }
double next_uniform(void *stream) { return static_cast<Stream *>(stream)->uniform(); }

// Two phases: begins in the first with a probability, goes on from it to the second with another.
struct TwoPhases {
    double first, first_mean, on, second_mean;

    double draw(Stream &stream) const {
        double total = 0.0;
        if (stream.uniform() < first) {
            total += stream.exponential() * first_mean;
            if (stream.uniform() >= on) return total;
        }
        total += stream.exponential() * second_mean;
        stream.uniform();  // where the second phase leads: nowhere else
        return total;
    }
};

constexpr TwoPhases SERVICE{0.5, 0.5, 0.5, 1.0};
constexpr TwoPhases PATIENCE{0.7, 8.0, 0.4, 10.0};

struct Page {
    double entered, obsolete;
};

struct Queue {
    Stream robots[ROBOTS], services, timers;
    double deliveries[ROBOTS], service_end = NEVER, in_service = 0.0;
    Page waiting[WAITING_PLACES];
    int count = 0, first_obsolete = -1;
    double level_time[WAITING_PLACES + 2] = {}, since = 0.0, sojourn = 0.0;
    long delivered = 0, lost = 0, obsolete = 0, served = 0;

    int level() const { return count + (service_end < NEVER); }

    void close_level(double now) {
        level_time[level()] += now - since;
        since = now;
    }

    void find_first_obsolete() {
        first_obsolete = -1;
        for (int place = 0; place < count; ++place)
            if (first_obsolete < 0 || waiting[place].obsolete < waiting[first_obsolete].obsolete)
                first_obsolete = place;
    }

    void leave(int place) {
        for (int other = place + 1; other < count; ++other) waiting[other - 1] = waiting[other];
        --count;
        find_first_obsolete();
    }

    void deliver(int robot, double now) {
        const int active = level() <= THRESHOLD ? ROBOTS : FEWER_ROBOTS;
        if (robot < active) {
            ++delivered;
            if (service_end == NEVER) {
                close_level(now);
                in_service = now;
                service_end = now + SERVICE.draw(services);
            } else if (count < WAITING_PLACES) {
                close_level(now);
                waiting[count] = {now, now + PATIENCE.draw(timers)};
                if (first_obsolete < 0 || waiting[count].obsolete < waiting[first_obsolete].obsolete)
                    first_obsolete = count;
                ++count;
            } else {
                ++lost;
            }
        }
        deliveries[robot] = now + robots[robot].exponential() * ACCESS_MEAN;
    }

    void serve(double now) {
        close_level(now);
        ++served;
        sojourn += now - in_service;
        service_end = NEVER;
        if (count > 0) {
            in_service = waiting[0].entered;
            leave(0);
            service_end = now + SERVICE.draw(services);
        }
    }

    void run(double horizon) {
        for (int robot = 0; robot < ROBOTS; ++robot)
            deliveries[robot] = robots[robot].exponential() * ACCESS_MEAN;
        while (true) {
            int robot = 0;
            for (int other = 1; other < ROBOTS; ++other)
                if (deliveries[other] < deliveries[robot]) robot = other;
            const double gone = first_obsolete < 0 ? NEVER : waiting[first_obsolete].obsolete;
            if (service_end <= gone && service_end <= deliveries[robot]) {
                if (service_end >= horizon) break;
                serve(service_end);
            } else if (gone <= deliveries[robot]) {
                if (gone >= horizon) break;
                close_level(gone);
                ++obsolete;
                leave(first_obsolete);
            } else {
                if (deliveries[robot] >= horizon) break;
                deliver(robot, deliveries[robot]);
            }
        }
        close_level(horizon);
    }
};

void seed(Stream &stream, char **words) {
    uint64_t parts[4];
    for (int part = 0; part < 4; ++part) parts[part] = std::strtoull(words[part], nullptr, 10);
    stream.state = (Word(parts[0]) << 64) | parts[1];
    stream.increment = (Word(parts[2]) << 64) | parts[3];
    stream.numbers = {&stream, next_word, nullptr, next_uniform, next_word};
}

}  // namespace

int main(int count, char **arguments) {
    if (count != 2 + 4 * (ROBOTS + 2)) return 2;
    static Queue queue;
    for (int robot = 0; robot < ROBOTS; ++robot) seed(queue.robots[robot], arguments + 2 + 4 * robot);
    seed(queue.services, arguments + 2 + 4 * ROBOTS);
    seed(queue.timers, arguments + 6 + 4 * ROBOTS);
    const double horizon = std::strtod(arguments[1], nullptr);
    const std::clock_t begun = std::clock();
    queue.run(horizon);
    const double seconds = double(std::clock() - begun) / CLOCKS_PER_SEC;
    double mean = 0.0;
    for (int level = 0; level <= WAITING_PLACES + 1; ++level) mean += level * queue.level_time[level];
    std::printf("%ld %ld %ld %ld %.17g %.17g %.6f\n", queue.delivered, queue.lost, queue.obsolete,
                queue.served, mean / horizon, queue.sojourn / double(queue.served), seconds);
}
